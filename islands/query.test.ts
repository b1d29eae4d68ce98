import { QueryClient } from "@tanstack/react-query";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { hasStatus, queryClient, read, request } from "./query";

const fetchMock = vi.fn<typeof fetch>();

beforeEach(() => {
  fetchMock.mockReset();
  vi.stubGlobal("fetch", fetchMock);
  queryClient.clear();
});

describe("a read", () => {
  test.each([
    [["/api/waitlist", "count"], "/api/waitlist/count"],
    [["/api/waitlist/count"], "/api/waitlist/count"],
    [["/api", "things", 7], "/api/things/7"],
  ])("§7 of %j is a GET of %s, with credentials", async (queryKey, url) => {
    answer(Response.json({}));
    await queryClient.fetchQuery({ queryKey });
    expect(fetchMock).toHaveBeenCalledOnce();
    const sent = lastCall();
    expect(sent.url).toBe(url);
    expect(sent.init.method ?? "GET").toBe("GET");
    expect(sent.init.credentials).toBe("include");
    expect(sent.init.body).toBeUndefined();
  });

  test("§7 yields the answer parsed as JSON", async () => {
    answer(Response.json({ count: 12 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).resolves.toEqual({ count: 12 });
  });

  test("§7 fails when the answer is not JSON", async () => {
    answer(new Response("<!doctype html>"));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toThrow(SyntaxError);
  });

  test("§7 throws at a 401 by default", async () => {
    answer(new Response("who are you", { status: 401 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toThrow("401: who are you");
  });

  test("§7 may be set to yield an empty value at a 401, and still throws at a 403", async () => {
    const queryFn = read({ on401: "null" });
    answer(new Response("who are you", { status: 401 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"], queryFn })).resolves.toBeNull();
    answer(new Response("not you", { status: 403 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/b"], queryFn })).rejects.toThrow(
      "403: not you",
    );
  });

  test("§7 is never repeated after a failure", async () => {
    fetchMock.mockRejectedValue(new TypeError("Failed to fetch"));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toThrow("Failed to fetch");
    expect(fetchMock).toHaveBeenCalledOnce();
  });

  test("§7 is never stale: what was read is not read again", async () => {
    vi.useFakeTimers();
    answer(Response.json(1));
    await queryClient.fetchQuery({ queryKey: ["/a"] });
    vi.setSystemTime(Date.now() + 60 * 60 * 1000);
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).resolves.toBe(1);
    expect(fetchMock).toHaveBeenCalledOnce();
  });

  test("§9 is forgotten after five minutes without use, not before", async () => {
    vi.useFakeTimers();
    answer(Response.json(1));
    await queryClient.fetchQuery({ queryKey: ["/a"] });
    vi.advanceTimersByTime(5 * 60 * 1000 - 1);
    expect(queryClient.getQueryData(["/a"])).toBe(1);
    vi.advanceTimersByTime(1);
    expect(queryClient.getQueryData(["/a"])).toBeUndefined();
  });
});

describe("a write", () => {
  test("§7 uses the caller's method and URL, with credentials", async () => {
    answer(new Response());
    await request("DELETE", "/api/things/7");
    const { url, init } = lastCall();
    expect(url).toBe("/api/things/7");
    expect(init.method).toBe("DELETE");
    expect(init.credentials).toBe("include");
  });

  test("§7 sends a JSON body and its content type when a body is given", async () => {
    answer(new Response());
    await request("POST", "/api/waitlist", { email: "ada@example.com" });
    const { init } = lastCall();
    expect(init.body).toBe('{"email":"ada@example.com"}');
    expect(new Headers(init.headers).get("content-type")).toBe("application/json");
  });

  test("§7 sends neither body nor content type when no body is given", async () => {
    answer(new Response());
    await request("POST", "/api/waitlist");
    const { init } = lastCall();
    expect(init.body).toBeUndefined();
    expect(new Headers(init.headers).has("content-type")).toBe(false);
  });

  test.each([null, false, 0, ""])("§7 takes %j for a body", async (body) => {
    answer(new Response());
    await request("POST", "/a", body);
    expect(lastCall().init.body).toBe(JSON.stringify(body));
  });

  test("§7 throws at a 401", async () => {
    answer(new Response("who are you", { status: 401 }));
    await expect(request("POST", "/a")).rejects.toThrow("401: who are you");
  });

  test("§7 yields the response", async () => {
    const response = new Response("yes", { status: 201 });
    answer(response);
    await expect(request("POST", "/a")).resolves.toBe(response);
  });
});

describe("a failure", () => {
  test.each([
    ["409: Email taken", "Email taken", { status: 409, statusText: "Conflict" }],
    ["503: Service Unavailable", "", { status: 503, statusText: "Service Unavailable" }],
    ["500: ", "", { status: 500 }],
  ])(
    "§8 reads %j: the status, a colon and the text, else the status text",
    async (message, body, init) => {
      answer(new Response(body, init));
      await expect(request("POST", "/a")).rejects.toEqual(new Error(message));
      answer(new Response(body, init));
      await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toEqual(
        new Error(message),
      );
    },
  );

  test("§8 is recognised by its status", () => {
    expect(hasStatus(new Error("409: Email taken"), 409)).toBe(true);
    expect(hasStatus(new Error("409: "), 409)).toBe(true);
    expect(hasStatus(new Error("409: Email taken"), 400)).toBe(false);
  });

  test("§8 is not taken for another because of a number in its body", () => {
    expect(hasStatus(new Error("500: upstream said 409: taken"), 409)).toBe(false);
    expect(hasStatus(new Error("4091: no such status"), 409)).toBe(false);
    expect(hasStatus("409: not an error", 409)).toBe(false);
    expect(hasStatus(undefined, 409)).toBe(false);
  });
});

test("§7 no retries, no refetch, no polling, never stale; §9 kept for five minutes", () => {
  expect(queryClient).toBeInstanceOf(QueryClient);
  expect(queryClient.getDefaultOptions()).toMatchObject({
    queries: {
      retry: false,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      refetchInterval: false,
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 5 * 60 * 1000,
    },
    mutations: { retry: false },
  });
});

function answer(response: Response) {
  fetchMock.mockResolvedValueOnce(response);
}

function lastCall(): { url: string; init: RequestInit } {
  const [url, init = {}] = fetchMock.mock.lastCall ?? [];
  return { url: String(url), init };
}
