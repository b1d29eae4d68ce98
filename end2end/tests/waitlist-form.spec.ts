/** Spec §4, §5, §7 and §8: the form, from typing to toast. */
import type { Route } from "@playwright/test";
import { expect, freshAddress, test } from "../fixtures.ts";

const COUNT = "**/api/waitlist/count";
const JOIN = "**/api/waitlist";

const answer = (status: number, body: string) => (route: Route) =>
  route.fulfill({ status, body, contentType: "application/json" });

test("§4 idle → submitting: input and button are disabled, the button says Adding...", async ({
  landing,
}) => {
  const letGo = await landing.hold(JOIN);
  await landing.openForm();
  const idle = await landing.submit.boundingBox();
  await landing.join(freshAddress());
  await expect(landing.submit).toHaveText("Adding...");
  await expect(landing.submit).toBeDisabled();
  await expect(landing.email).toBeDisabled();
  expect((await landing.submit.boundingBox())?.width).toBe(idle?.width);
  letGo();
  await expect(landing.submit).toHaveText("Join the Waitlist");
  await expect(landing.submit).toBeEnabled();
  await expect(landing.email).toBeEnabled();
});

test("§4 submitting → success: cleared field, success toast, fresh count", async ({
  landing,
  page,
  site,
}) => {
  await landing.openForm();
  const before = await site.count();
  const refetched = page.waitForResponse(async (response) => {
    return response.url().endsWith("/count") && (await response.json()).count > before;
  });
  const email = freshAddress();
  await landing.join(email);
  await expect(landing.toasts).toHaveCount(1);
  await expect(landing.toasts).toContainText("Success!");
  await expect(landing.toasts).toContainText(
    "You've been added to the waitlist. We'll notify you when Steward is ready.",
  );
  await expect(landing.toasts).toHaveAttribute("data-variant", "default");
  await expect(landing.email).toHaveValue("");
  const { count } = await (await refetched).json();
  await expect(landing.count).toHaveText(`${count} entrepreneurs already on the list`);
  expect(await site.join(email)).toBe(409);
});

test.describe("§8 error catalogue", () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("§8 409: Email already on waitlist, field kept", async ({ landing, site }) => {
    const email = freshAddress();
    await site.join(email);
    await landing.openForm();
    await landing.join(email.toUpperCase());
    await expect(landing.toasts).toHaveText("Error Email already on waitlist");
    await expect(landing.toasts).toHaveAttribute("data-variant", "destructive");
    await expect(landing.email).toHaveValue(email.toUpperCase());
    await expect(landing.email).toBeFocused();
  });

  test("§8 400: Please enter a valid email address, field kept", async ({ landing }) => {
    await landing.openForm();
    // Passes the browser's own check, but has more than 64 characters before the @.
    const email = `${"a".repeat(65)}@example.com`;
    await landing.join(email);
    await expect(landing.toasts).toHaveText("Error Please enter a valid email address");
    await expect(landing.toasts).toHaveAttribute("data-variant", "destructive");
    await expect(landing.email).toHaveValue(email);
  });

  for (const [name, failure] of [
    ["500", answer(500, "409: no")],
    ["503", answer(503, '{"error":"no"}')],
    ["no connection", (route: Route) => route.abort()],
  ] as const) {
    test(`§8 any other failure (${name}): Please try again, field kept`, async ({
      landing,
      page,
    }) => {
      await page.route(JOIN, failure);
      await landing.openForm();
      const email = freshAddress();
      await landing.join(email);
      await expect(landing.toasts).toHaveText("Error Failed to add to waitlist. Please try again.");
      await expect(landing.email).toHaveValue(email);
      await expect(landing.submit).toBeEnabled();
    });
  }

  test("§8 offline: told at once, not held back", async ({ context, landing }) => {
    await landing.openForm();
    await context.setOffline(true);
    await landing.join(freshAddress());
    await expect(landing.toasts).toContainText("Failed to add to waitlist. Please try again.");
    await context.setOffline(false);
  });
});

test("§5 §8 an empty field sends no request: Please enter your email address", async ({
  landing,
  page,
}) => {
  let requests = 0;
  await page.route(JOIN, (route) => {
    requests += 1;
    return route.continue();
  });
  await landing.openForm();
  for (const typed of ["", "   "]) {
    await landing.join(typed);
    await expect(landing.toasts).toHaveText("Error Please enter your email address");
    await expect(landing.toasts).toHaveAttribute("data-variant", "destructive");
  }
  expect(requests).toBe(0);
});

test("§5 the browser's own check stays", async ({ landing }) => {
  await landing.openForm();
  await expect(landing.email).toHaveAttribute("type", "email");
  await landing.join("nonsense");
  await expect(landing.email).toBeFocused();
  expect(
    await landing.email.evaluate((input: HTMLInputElement) => input.validity.typeMismatch),
  ).toBe(true);
  await expect(landing.toasts).toHaveCount(0);
});

test("§7 the count is asked for when the contact section shows, not before", async ({
  landing,
  page,
}) => {
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/")) asked.push(request.url());
  });
  await landing.open();
  // Near, and the form is touched, so that it is mounted; but the section does not show.
  const section = await landing.section("contact").boundingBox();
  const height = page.viewportSize()?.height ?? 0;
  await page.evaluate(
    (top) => scrollTo({ top, behavior: "instant" }),
    (section?.y ?? 0) - height - 20,
  );
  // The first touch may come before the host does, and then only makes it come.
  await expect(async () => {
    await landing.form.dispatchEvent("pointerover");
    const waiting = page.locator("[data-island=waitlist-form]:not([data-started])");
    await expect(waiting).toHaveCount(0, { timeout: 200 });
  }).toPass();
  await landing.ready("waitlist-form");
  await landing.observersTold();
  expect(asked).toEqual([]);
  const response = page.waitForResponse(COUNT);
  await landing.section("contact").scrollIntoViewIfNeeded();
  expect((await response).status()).toBe(200);
  expect(asked).toHaveLength(1);
});

test("§3 the count is 0 when the answer has none", async ({ landing, page }) => {
  await page.route(COUNT, answer(200, "{}"));
  await landing.openForm();
  await expect(landing.count).toHaveText("0 entrepreneurs already on the list");
});

test("§3 the count is shown as N entrepreneurs already on the list", async ({ landing, page }) => {
  await page.route(COUNT, answer(200, '{"count": 1234}'));
  await landing.openForm();
  await expect(landing.count).toHaveText("1234 entrepreneurs already on the list");
});

test.describe("§7 calls", () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("§7 a write sends JSON with its content type and credentials", async ({ landing, page }) => {
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await landing.openForm();
    const email = freshAddress();
    await landing.join(email);
    const request = await sent;
    expect(new URL(request.url()).pathname).toBe("/api/waitlist");
    expect(request.headers()["content-type"]).toBe("application/json");
    expect(request.postDataJSON()).toEqual({ email });
  });

  test("§7 a read is a GET without a body and without a content type", async ({
    landing,
    page,
  }) => {
    const sent = page.waitForRequest(COUNT);
    await landing.openForm();
    const request = await sent;
    expect(request.method()).toBe("GET");
    expect(request.postData()).toBeNull();
    expect(request.headers()["content-type"]).toBeUndefined();
  });

  test("§7 reads and writes are not retried, and not repeated on focus", async ({
    landing,
    page,
  }) => {
    const calls: string[] = [];
    await page.route("**/api/**", (route) => {
      calls.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
      return route.fulfill({ status: 500, body: "" });
    });
    await page.clock.install();
    await landing.openForm();
    await expect.poll(() => calls).toEqual(["GET /api/waitlist/count"]);
    await landing.join(freshAddress());
    await expect(landing.toasts).toHaveCount(1);
    await page.evaluate(() => dispatchEvent(new Event("visibilitychange")));
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await page.clock.runFor(120_000);
    expect(calls).toEqual(["GET /api/waitlist/count", "POST /api/waitlist"]);
  });
});
