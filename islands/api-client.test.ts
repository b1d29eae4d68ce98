import { QueryObserver } from "@tanstack/react-query";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { jsonQuery, queryClient, request, statusOf } from "./api-client";

const GC_TIME_MS = 5 * 60 * 1000;

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
  ])("§7 of %j is a GET of %s with credentials", async (queryKey, url) => {
    respond(Response.json({}));
    await queryClient.fetchQuery({ queryKey });
    expect(fetchMock).toHaveBeenCalledOnce();
    const { url: sentUrl, init } = lastRequest();
    expect(sentUrl).toBe(url);
    expect(init.method ?? "GET").toBe("GET");
    expect(init.credentials).toBe("include");
    expect(init.body).toBeUndefined();
  });

  test("§7 parses the response as JSON", async () => {
    respond(Response.json({ count: 12 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).resolves.toEqual({ count: 12 });
  });

  test("§7 fails if the response is not JSON", async () => {
    respond(new Response("<!doctype html>"));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toThrow(SyntaxError);
  });

  test("§7 throws on a 401 by default", async () => {
    respond(new Response("who are you", { status: 401 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toThrow("401: who are you");
  });

  test('§7 with `on401: "null"` yields `null` on a 401 and throws on a 403', async () => {
    const queryFn = jsonQuery({ on401: "null" });
    respond(new Response("who are you", { status: 401 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"], queryFn })).resolves.toBeNull();
    respond(new Response("not you", { status: 403 }));
    await expect(queryClient.fetchQuery({ queryKey: ["/b"], queryFn })).rejects.toThrow(
      "403: not you",
    );
  });

  test("§7 is not retried", async () => {
    fetchMock.mockRejectedValue(new TypeError("Failed to fetch"));
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toThrow("Failed to fetch");
    expect(fetchMock).toHaveBeenCalledOnce();
  });

  test("§7 is never stale", async () => {
    vi.useFakeTimers();
    respond(Response.json(1));
    await queryClient.fetchQuery({ queryKey: ["/a"] });
    vi.setSystemTime(Date.now() + 60 * 60 * 1000);
    await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).resolves.toBe(1);
    expect(fetchMock).toHaveBeenCalledOnce();
  });

  test("§9 stays in the cache for exactly five minutes without use", async () => {
    vi.useFakeTimers();
    respond(Response.json(1));
    await queryClient.fetchQuery({ queryKey: ["/a"] });
    vi.advanceTimersByTime(GC_TIME_MS - 1);
    expect(queryClient.getQueryData(["/a"])).toBe(1);
    vi.advanceTimersByTime(1);
    expect(queryClient.getQueryData(["/a"])).toBeUndefined();
  });
});

describe("a write", () => {
  test("§7 uses the given method and URL, with credentials", async () => {
    respond(new Response());
    await request("DELETE", "/api/things/7");
    const { url, init } = lastRequest();
    expect(url).toBe("/api/things/7");
    expect(init.method).toBe("DELETE");
    expect(init.credentials).toBe("include");
  });

  test("§7 sends a given body as JSON with its content type", async () => {
    respond(new Response());
    await request("POST", "/api/waitlist", { email: "ada@example.com" });
    const { init } = lastRequest();
    expect(init.body).toBe('{"email":"ada@example.com"}');
    expect(new Headers(init.headers).get("content-type")).toBe("application/json");
  });

  test("§7 without a body sends no body and no content type", async () => {
    respond(new Response());
    await request("POST", "/api/waitlist");
    const { init } = lastRequest();
    expect(init.body).toBeUndefined();
    expect(new Headers(init.headers).has("content-type")).toBe(false);
  });

  test.each([null, false, 0, ""])("§7 sends %j as a body", async (body) => {
    respond(new Response());
    await request("POST", "/a", body);
    expect(lastRequest().init.body).toBe(JSON.stringify(body));
  });

  test("§7 throws on a 401", async () => {
    respond(new Response("who are you", { status: 401 }));
    await expect(request("POST", "/a")).rejects.toThrow("401: who are you");
  });

  test("§7 returns the response", async () => {
    const response = new Response("yes", { status: 201 });
    respond(response);
    await expect(request("POST", "/a")).resolves.toBe(response);
  });
});

describe("an error response", () => {
  test.each([
    ["409: Email taken", "Email taken", { status: 409, statusText: "Conflict" }],
    ["503: Service Unavailable", "", { status: 503, statusText: "Service Unavailable" }],
    ["500: ", "", { status: 500 }],
  ])(
    "§8 has the message %j: the status, then the body or else the status text",
    async (message, body, init) => {
      respond(new Response(body, init));
      await expect(request("POST", "/a")).rejects.toEqual(new Error(message));
      respond(new Response(body, init));
      await expect(queryClient.fetchQuery({ queryKey: ["/a"] })).rejects.toEqual(
        new Error(message),
      );
    },
  );

  test.each([
    [new Error("409: Email taken"), 409],
    [new Error("409: "), 409],
    [new Error("500: upstream said 409: taken"), 500],
    [new Error("upstream said 409: taken"), Number.NaN],
    ["409: not an error", Number.NaN],
    [undefined, Number.NaN],
  ])("§8 (%j) has the status %d", (error, status) => {
    expect(statusOf(error)).toBe(status);
  });
});

test("§7 data in use is neither polled nor read again when the visitor comes back", async () => {
  vi.useFakeTimers();
  respond(Response.json(1));
  queryClient.mount();
  const unsubscribe = new QueryObserver(queryClient, { queryKey: ["/a"] }).subscribe(() => {});
  await vi.advanceTimersByTimeAsync(60 * 60 * 1000);
  for (const event of ["visibilitychange", "focus", "offline", "online"])
    window.dispatchEvent(new Event(event));
  await vi.advanceTimersByTimeAsync(60 * 60 * 1000);
  expect(fetchMock).toHaveBeenCalledOnce();
  unsubscribe();
  queryClient.unmount();
});

function respond(response: Response) {
  fetchMock.mockResolvedValueOnce(response);
}

function lastRequest(): { url: string; init: RequestInit } {
  const [url, init = {}] = fetchMock.mock.lastCall ?? [];
  return { url: String(url), init };
}
