/** The API client: the request conventions of spec §7 and the errors of §8. */
import { QueryClient, type QueryFunction } from "@tanstack/react-query";

/** Sends a request. The JSON body and its content type are sent only if `body` is defined. */
export async function request(
  method: string,
  url: string,
  body?: unknown,
  signal: AbortSignal | null = null,
): Promise<Response> {
  const response = await fetch(url, {
    method,
    credentials: "include",
    signal,
    ...(body === undefined
      ? {}
      : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  await throwUnlessOk(response);
  return response;
}

/**
 * Returns a query function for JSON. The segments of the query key, joined with slashes, are the URL. `on401`
 * decides whether a 401 throws or yields `null`.
 */
export function jsonQuery<T>({
  on401 = "throw",
}: { on401?: "throw" | "null" } = {}): QueryFunction<T | null> {
  return async ({ queryKey }) => {
    const response = await fetch(queryKey.join("/"), { credentials: "include" });
    if (on401 === "null" && response.status === 401) return null;
    await throwUnlessOk(response);
    return response.json();
  };
}

/** Returns the status of the response that an error is about, or NaN. */
export function statusOf(error: unknown): number {
  const message = error instanceof Error ? error.message : "";
  return Number(/^(\d+): /.exec(message)?.[1]);
}

async function throwUnlessOk(response: Response) {
  if (response.ok) return;
  throw new Error(`${response.status}: ${(await response.text()) || response.statusText}`);
}

/**
 * The client that all reads share. With `networkMode: "always"` a read fails at once while
 * the browser is offline. By default TanStack Query pauses it. Its other defaults are those of
 * spec §7 and §9: no polling, and unused data is kept for five minutes.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      queryFn: jsonQuery(),
      retry: false,
      refetchOnWindowFocus: false,
      staleTime: Number.POSITIVE_INFINITY,
      networkMode: "always",
    },
  },
});
