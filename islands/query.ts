/** The call conventions of spec §7. */
import { QueryClient, type QueryFunction } from "@tanstack/react-query";

/** Sends a request; a body and its content type only when there is one. */
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

/** A read: the key's segments joined with slashes are its URL. A 401 throws, or yields `null`. */
export function read<T>({
  on401 = "throw",
}: { on401?: "throw" | "null" } = {}): QueryFunction<T | null> {
  return async ({ queryKey }) => {
    const response = await fetch(queryKey.join("/"), { credentials: "include" });
    if (on401 === "null" && response.status === 401) return null;
    await throwUnlessOk(response);
    return response.json();
  };
}

/** Whether a failed request failed with this status. */
export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof Error && error.message.startsWith(`${status}: `);
}

async function throwUnlessOk(response: Response) {
  if (response.ok) return;
  throw new Error(`${response.status}: ${(await response.text()) || response.statusText}`);
}

/** `networkMode`: a call made offline fails at once. By default TanStack would hold it back, and the form
 * would wait in silence. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      queryFn: read(),
      retry: false,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      refetchInterval: false,
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 5 * 60 * 1000,
      networkMode: "always",
    },
    mutations: { retry: false, networkMode: "always" },
  },
});
