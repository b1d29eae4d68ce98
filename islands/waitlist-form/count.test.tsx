import { waitFor } from "@testing-library/react";
import { describe, expect, test } from "vitest";
import { queryClient } from "../query";
import { scrollTo } from "../test/setup";
import { PRERENDERED_COUNT, count, setup, findCount, countLine, openToasts } from "./fixtures";

describe("the count", () => {
  test("§7 is the server's, and not asked for, before the section is in view", async () => {
    setup();
    scrollTo(0);
    await new Promise(setImmediate);
    expect(count).not.toHaveBeenCalled();
    await findCount(PRERENDERED_COUNT);
  });

  test("§7 is asked for once the section shows, and only once", async () => {
    setup();
    scrollTo(0.01);
    await findCount(42);
    for (const share of [0, 1, 0, 1]) scrollTo(share);
    window.dispatchEvent(new Event("focus"));
    window.dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    await new Promise(setImmediate);
    expect(count).toHaveBeenCalledOnce();
  });

  test.each([
    ["1.234 Unternehmer stehen auf der Liste", "42 Unternehmer stehen auf der Liste"],
    ["1 234 entrepreneurs", "42 entrepreneurs"],
    ["۱۲۳ کارآفرین", "42 کارآفرین"],
  ])("takes the place of the number in %s", async (translated, expected) => {
    setup();
    const line = countLine();
    line?.replaceChildren(translated);
    scrollTo(1);
    await waitFor(() => expect(line?.textContent).toBe(expected));
  });

  test("is hidden below the number that the owner has set, and its dot lives above 0", async () => {
    count.mockImplementation(async () => Response.json({ count: 4 }));
    setup({ countFrom: 5 });
    scrollTo(1);
    await waitFor(() => expect(countLine()?.dataset["state"]).toBe("hidden"));
    count.mockImplementation(async () => Response.json({ count: 5 }));
    await queryClient.refetchQueries();
    await waitFor(() => expect(countLine()?.dataset["state"]).toBe("live"));
  });

  test("has no live dot while nobody is on the list", async () => {
    count.mockImplementation(async () => Response.json({ count: 0 }));
    setup();
    scrollTo(1);
    await waitFor(() => expect(countLine()?.dataset["state"]).toBe("empty"));
  });

  test("§3 is 0 when the answer has none", async () => {
    count.mockImplementation(async () => Response.json({}));
    setup();
    scrollTo(1);
    await findCount(0);
  });

  test.each([
    ["answers 500", async () => new Response("oops", { status: 500 })],
    ["can't be reached", () => Promise.reject(new TypeError("Failed to fetch"))],
  ])("§3 stays what it was when the server %s", async (_what, answer) => {
    count.mockImplementation(answer);
    setup();
    scrollTo(1);
    await waitFor(() =>
      expect(queryClient.getQueryState(["/api/waitlist", "count"])?.status).toBe("error"),
    );
    await findCount(PRERENDERED_COUNT);
    expect(count).toHaveBeenCalledOnce();
    expect(openToasts()).toEqual([]);
  });
});
