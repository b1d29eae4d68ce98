/** Spec §3, §4, §5, §7 and §8: the form's states, errors and requests. */
import type { Route } from "@playwright/test";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";

const COUNT = "**/api/waitlist/count";
const JOIN = "**/api/waitlist";

const respond = (status: number, body: string) => (route: Route) =>
  route.fulfill({ status, body, contentType: "application/json" });

test("§4 while submitting, field and button are disabled and the button says Adding...", async ({
  landing,
}) => {
  const release = await landing.holdRequests(JOIN);
  await landing.openForm();
  const idle = await boundingBox(landing.submit);
  await landing.signUp(uniqueEmail());
  await expect(landing.submit).toHaveText("Adding...");
  await expect(landing.submit).toBeDisabled();
  await expect(landing.email).toBeDisabled();
  expect((await boundingBox(landing.submit)).width).toBe(idle.width);
  release();
  await expect(landing.submit).toHaveText("Join the Waitlist");
  await expect(landing.submit).toBeEnabled();
  await expect(landing.email).toBeEnabled();
});

test("§4 a success empties the field, shows a toast and updates the count", async ({
  landing,
  page,
  site,
}) => {
  await landing.openForm();
  const before = await site.count();
  const recounted = page.waitForResponse(async (response) => {
    return response.url().endsWith("/count") && (await response.json()).count > before;
  });
  const email = uniqueEmail();
  await landing.signUp(email);
  await expect(landing.toasts).toHaveCount(1);
  await expect(landing.toasts).toContainText("Success!");
  await expect(landing.toasts).toContainText(
    "You've been added to the waitlist. We'll notify you when Steward is ready.",
  );
  await expect(landing.toasts).toHaveAttribute("data-variant", "default");
  await expect(landing.email).toHaveValue("");
  const { count } = await (await recounted).json();
  await expect(landing.count).toHaveText(`${count} entrepreneurs already on the list`);
  expect(await site.signUp(email)).toBe(409);
});

test.describe("§8 errors", () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("§8 409 shows Email already on waitlist and keeps the address", async ({
    landing,
    site,
  }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    await landing.openForm();
    await landing.signUp(email.toUpperCase());
    await expect(landing.toasts).toHaveText("Error Email already on waitlist");
    await expect(landing.toasts).toHaveAttribute("data-variant", "destructive");
    await expect(landing.email).toHaveValue(email.toUpperCase());
    await expect(landing.email).toBeFocused();
  });

  test("§8 400 shows Please enter a valid email address and keeps the address", async ({
    landing,
  }) => {
    await landing.openForm();
    // The browser accepts it; the server rejects more than 64 characters before the @.
    const email = `${"a".repeat(65)}@example.com`;
    await landing.signUp(email);
    await expect(landing.toasts).toHaveText("Error Please enter a valid email address");
    await expect(landing.toasts).toHaveAttribute("data-variant", "destructive");
    await expect(landing.email).toHaveValue(email);
  });

  for (const [name, failure] of [
    // The status counts, not a body that looks like another error.
    ["500", respond(500, "409: no")],
    ["503", respond(503, '{"error":"no"}')],
    ["no connection", (route: Route) => route.abort()],
  ] as const) {
    test(`§8 any other failure (${name}) shows Please try again and keeps the address`, async ({
      landing,
      page,
    }) => {
      await page.route(JOIN, failure);
      await landing.openForm();
      const email = uniqueEmail();
      await landing.signUp(email);
      await expect(landing.toasts).toHaveText("Error Failed to add to waitlist. Please try again.");
      await expect(landing.email).toHaveValue(email);
      await expect(landing.submit).toBeEnabled();
    });
  }

  test("§8 offline a sign-up fails at once and is not queued", async ({ context, landing }) => {
    await landing.openForm();
    await context.setOffline(true);
    await landing.signUp(uniqueEmail());
    await expect(landing.toasts).toContainText("Failed to add to waitlist. Please try again.");
    await context.setOffline(false);
  });
});

test("§5 §8 an empty field sends no request and shows Please enter your email address", async ({
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
    await landing.signUp(typed);
    await expect(landing.toasts).toHaveText("Error Please enter your email address");
    await expect(landing.toasts).toHaveAttribute("data-variant", "destructive");
  }
  expect(requests).toBe(0);
});

test("§5 the browser's own validation applies", async ({ landing }) => {
  await landing.openForm();
  await expect(landing.email).toHaveAttribute("type", "email");
  await landing.signUp("nonsense");
  await expect(landing.email).toBeFocused();
  expect(
    await landing.email.evaluate((input: HTMLInputElement) => input.validity.typeMismatch),
  ).toBe(true);
  await expect(landing.toasts).toHaveCount(0);
});

test("§7 the count is requested when the contact section is in view, not before", async ({
  landing,
  page,
}) => {
  const requests: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/")) requests.push(request.url());
  });
  await landing.open();
  // 20 px before the section is in view.
  const section = await boundingBox(landing.section("contact"));
  const height = page.viewportSize()?.height ?? 0;
  await page.evaluate((top) => scrollTo({ top, behavior: "instant" }), section.y - height - 20);
  // Touch the form to mount it. The first touch may come before the host, and then only loads it.
  await expect(async () => {
    await landing.form.dispatchEvent("pointerover");
    const notStarted = page.locator("[data-island=waitlist-form]:not([data-started])");
    await expect(notStarted).toHaveCount(0, { timeout: 200 });
  }).toPass();
  await landing.waitForIslands("waitlist-form");
  await landing.waitForIntersectionObservers();
  expect(requests).toEqual([]);
  const response = page.waitForResponse(COUNT);
  await landing.section("contact").scrollIntoViewIfNeeded();
  expect((await response).status()).toBe(200);
  expect(requests).toHaveLength(1);
});

test("§3 the count is 0 if the response has none", async ({ landing, page }) => {
  await page.route(COUNT, respond(200, "{}"));
  await landing.openForm();
  await expect(landing.count).toHaveText("0 entrepreneurs already on the list");
});

test("§3 the count is shown as N entrepreneurs already on the list", async ({ landing, page }) => {
  await page.route(COUNT, respond(200, '{"count": 1234}'));
  await landing.openForm();
  await expect(landing.count).toHaveText("1234 entrepreneurs already on the list");
});

test.describe("§7 requests", () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("§7 a write sends JSON with its content type", async ({ landing, page }) => {
    const posted = page.waitForRequest((request) => request.method() === "POST");
    await landing.openForm();
    const email = uniqueEmail();
    await landing.signUp(email);
    const request = await posted;
    expect(new URL(request.url()).pathname).toBe("/api/waitlist");
    expect(request.headers()["content-type"]).toBe("application/json");
    expect(request.postDataJSON()).toEqual({ email });
  });

  test("§7 a read is a GET without a body or content type", async ({ landing, page }) => {
    const requested = page.waitForRequest(COUNT);
    await landing.openForm();
    const request = await requested;
    expect(request.method()).toBe("GET");
    expect(request.postData()).toBeNull();
    expect(request.headers()["content-type"]).toBeUndefined();
  });

  test("§7 reads and writes are neither retried nor repeated on focus", async ({
    landing,
    page,
  }) => {
    const requests: string[] = [];
    await page.route("**/api/**", (route) => {
      requests.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
      return route.fulfill({ status: 500, body: "" });
    });
    await page.clock.install();
    await landing.openForm();
    await expect.poll(() => requests).toEqual(["GET /api/waitlist/count"]);
    await landing.signUp(uniqueEmail());
    await expect(landing.toasts).toHaveCount(1);
    await page.evaluate(() => dispatchEvent(new Event("visibilitychange")));
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await page.clock.runFor(120_000);
    expect(requests).toEqual(["GET /api/waitlist/count", "POST /api/waitlist"]);
  });
});
