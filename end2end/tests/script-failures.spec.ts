/** When scripts are lost or late, the form still works and the page logs a single line. */
import type { Page } from "@playwright/test";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";

/** The scripts of the page, by URL pattern. */
const SCRIPTS = {
  "the boot script": "**/islands/boot-*",
  "the host's JavaScript": "**/pkg/*.js",
  "the host's wasm": "**/pkg/*.wasm",
  React: "**/islands/chunk-*",
  "the form's script": "**/islands/waitlist-form-*",
  "the toaster's script": "**/islands/toaster-*",
  "the tooltips' script": "**/islands/contact-links-*",
  "the terminal's script": "**/islands/demo-terminal-*",
} as const;

/** The one line that the page logs when an island cannot be loaded. */
const FAILURE = /the islands failed to load/;

/** Records console messages, except the browser's own about failed requests. */
function recordConsole(page: Page): string[] {
  const messages: string[] = [];
  page.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource")) messages.push(message.text());
  });
  return messages;
}

/** Waits for the line on the console that reports a failure. */
function waitForFailure(page: Page) {
  return page.waitForEvent("console", (message) => FAILURE.test(message.text()));
}

test.describe("a script that fails", { tag: "@once" }, () => {
  test.use({ expectedConsole: new RegExp(`${FAILURE.source}|Failed to load resource`) });

  for (const script of [
    "the host's JavaScript",
    "the host's wasm",
    "React",
    "the form's script",
  ] as const) {
    for (const [fault, status] of [
      ["blocked", undefined],
      ["not found", 404],
    ] as const) {
      test(`with ${script} ${fault} one line is logged, and the form works as HTML`, async ({
        landing,
        page,
        site,
      }) => {
        const messages = recordConsole(page);
        await page.route(SCRIPTS[script], (route) =>
          status ? route.fulfill({ status }) : route.abort(),
        );
        const failure = waitForFailure(page);
        await landing.open();
        await landing.scrollThroughIslands();
        await failure;
        await expect(landing.lines).toHaveCount(9);
        const email = uniqueEmail();
        await landing.email.focus();
        expect(messages).toEqual([expect.stringMatching(FAILURE)]);
        await landing.signUp(email);
        await expect(landing.message).toContainText("You've been added to the waitlist.");
        expect(await site.signUp(email)).toBe(409);
      });
    }
  }

  test("without the boot script nothing is logged, and the form works as HTML", async ({
    landing,
    page,
    site,
  }) => {
    const messages = recordConsole(page);
    await page.route(SCRIPTS["the boot script"], (route) => route.abort());
    await landing.open();
    await expect(landing.lines).toHaveCount(9);
    const email = uniqueEmail();
    await landing.signUp(email);
    await expect(landing.message).toContainText("You've been added to the waitlist.");
    expect(await site.signUp(email)).toBe(409);
    expect(messages).toEqual([]);
  });

  test("offline one line is logged, and the form works once online again", async ({
    context,
    landing,
    page,
  }) => {
    const messages = recordConsole(page);
    const wasm = page.waitForResponse("**/pkg/*.wasm");
    await landing.open();
    await (await wasm).finished();
    await context.setOffline(true);
    const failure = waitForFailure(page);
    await landing.scrollThroughIslands();
    await failure;
    await landing.waitForIntersectionObservers();
    expect(messages).toEqual([expect.stringMatching(FAILURE)]);
    await context.setOffline(false);
    await landing.signUp(uniqueEmail());
    await expect(landing.message).toContainText("You've been added to the waitlist.");
  });
});

test.describe("one script", { tag: "@once" }, () => {
  test.use({ expectedConsole: new RegExp(`${FAILURE.source}|Failed to load resource`) });

  for (const [script, url] of Object.entries(SCRIPTS)) {
    test(`without ${script} the visitor sees the outcome of a sign-up`, async ({
      landing,
      page,
      site,
    }) => {
      const email = uniqueEmail();
      await site.signUp(email);
      await page.route(url, (route) => route.abort());
      await landing.open();
      await page.waitForLoadState("networkidle");
      await landing.section("contact").scrollIntoViewIfNeeded();
      await landing.signUp(email);
      await expect(landing.message).toHaveText("Email already on waitlist");
      await expect(landing.message).toBeInViewport();
      await expect(page.getByText("Email already on waitlist").first()).toBeVisible();
    });

    test(`while ${script} is late the visitor sees the outcome of a sign-up`, async ({
      landing,
      page,
      site,
    }) => {
      const email = uniqueEmail();
      await site.signUp(email);
      const release = await landing.holdRequests(url);
      await page.goto("/", { waitUntil: "commit" });
      await landing.section("contact").scrollIntoViewIfNeeded();
      await landing.signUp(email);
      await expect(landing.message).toHaveText("Email already on waitlist");
      await expect(landing.message).toBeInViewport();
      release();
    });
  }

  test("without the toaster the form announces the outcome itself", async ({ landing, page }) => {
    await page.route(SCRIPTS["the toaster's script"], (route) => route.abort());
    await landing.open();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await landing.waitForIslands("waitlist-form");
    await landing.submit.click();
    await expect(page.getByRole("status")).toHaveText("Please enter your email address");
  });

  test("an island that failed offline loads when it is touched or seen again", async ({
    context,
    landing,
    page,
  }) => {
    const wasm = page.waitForResponse("**/pkg/*.wasm");
    await landing.open();
    await (await wasm).finished();
    await context.setOffline(true);
    const failure = waitForFailure(page);
    await landing.scrollThroughIslands();
    await failure;
    // The first failure is logged. Wait until every island has given up.
    await landing.waitForIntersectionObservers();
    await expect(page.locator("[data-started]")).toHaveCount(0);
    await context.setOffline(false);
    await landing.email.focus();
    await landing.waitForIslands("waitlist-form");
    await landing.scrollToTop();
    await landing.waitForIntersectionObservers();
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.waitForIslands("demo-terminal");
  });

  test("a host that failed loads at the next touch", async ({ landing, page }) => {
    let isLost = true;
    await page.route(SCRIPTS["the host's wasm"], (route) =>
      isLost ? route.abort() : route.continue(),
    );
    const failure = waitForFailure(page);
    await landing.open();
    await failure;
    isLost = false;
    await landing.email.focus();
    await landing.waitForIslands("waitlist-form");
  });

  for (const script of ["the boot script", "the terminal's script"] as const) {
    test(`without ${script} no line of the terminal is dimmed`, async ({ landing, page }) => {
      await page.route(SCRIPTS[script], (route) => route.abort());
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      const opacities = await landing.lines
        .locator("span")
        .evaluateAll((spans) => spans.map((span) => getComputedStyle(span).opacity));
      expect(opacities).toEqual(Array(9).fill("1"));
    });
  }
});
