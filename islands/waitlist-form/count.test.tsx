import { waitFor } from "@testing-library/react";
import { describe, expect, test } from "vitest";
import { queryClient } from "../api-client";
import { scrollTo } from "../test/setup";
import { openToast } from "../test/toasts";
import {
  countLine,
  getCount,
  PRERENDERED_COUNT,
  renderForm,
  respondWithCount,
  waitForCount,
} from "../test/waitlist-form-fixtures";

describe("the count", () => {
  test("§7 is the server's, without a request, before the section is in view", async () => {
    renderForm();
    scrollTo(0);
    await new Promise(setImmediate);
    expect(getCount).not.toHaveBeenCalled();
    await waitForCount(PRERENDERED_COUNT);
  });

  test("§7 is requested only once, when the section comes into view", async () => {
    renderForm();
    scrollTo(0.01);
    await waitForCount(42);
    for (const share of [0, 1, 0, 1]) scrollTo(share);
    window.dispatchEvent(new Event("focus"));
    window.dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    await new Promise(setImmediate);
    expect(getCount).toHaveBeenCalledOnce();
  });

  test("replaces a line that a translator has wrapped, and the translator sees that", async () => {
    renderForm();
    const line = countLine();
    line?.replaceChildren(
      Object.assign(document.createElement("font"), { textContent: "41 Namen" }),
    );
    scrollTo(1);
    await waitForCount(42);
    expect(line?.isConnected).toBe(true);
  });

  test("is empty below `count_from`, and shown from there on", async () => {
    respondWithCount(4);
    renderForm({ count_from: 5 });
    scrollTo(1);
    await waitFor(() => expect(countLine()?.textContent).toBe(""));
    respondWithCount(5);
    await queryClient.refetchQueries();
    await waitForCount(5);
  });

  test("is not a live region: a screen reader reads it when the visitor does", () => {
    renderForm();
    expect(countLine()?.closest("[aria-live], [role=status]")).toBeNull();
  });

  test("§3 is 0 if the response has no count", async () => {
    getCount.mockImplementation(async () => Response.json({}));
    renderForm();
    scrollTo(1);
    await waitForCount(0);
  });

  test.each([
    ["responds with a 500", async () => new Response("oops", { status: 500 })],
    ["is unreachable", () => Promise.reject(new TypeError("Failed to fetch"))],
  ])("§3 stays unchanged if the server %s", async (_what, response) => {
    getCount.mockImplementation(response);
    renderForm();
    scrollTo(1);
    await waitFor(() =>
      expect(queryClient.getQueryState(["/api/waitlist", "count"])?.status).toBe("error"),
    );
    await waitForCount(PRERENDERED_COUNT);
    expect(getCount).toHaveBeenCalledOnce();
    expect(openToast()).toBeUndefined();
  });
});
