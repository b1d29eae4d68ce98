/** When scripts are lost or late, the form still works and the page logs a single line at most. */
import type { Page, Route } from "@playwright/test";
import { measureContrast, tooLow } from "../support/contrast.ts";
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

/** Without these scripts the form is never mounted. */
const SCRIPTS_OF_THE_FORM: string[] = [
  "the host's JavaScript",
  "the host's wasm",
  "React",
  "the form's script",
];

const FAULTS: Record<string, (route: Route) => unknown> = {
  blocked: (route) => route.abort(),
  "not found": (route) => route.fulfill({ status: 404 }),
  late: () => {},
};

test.describe("a script", { tag: "@once" }, () => {
  test.use({ expectedConsole: new RegExp(`${FAILURE.source}|Failed to load resource`) });

  for (const [script, url] of Object.entries(SCRIPTS)) {
    for (const [fault, handle] of Object.entries(FAULTS)) {
      test(`with ${script} ${fault} the visitor sees the outcome of a sign-up, and one line at most is logged`, async ({
        landing,
        page,
        site,
      }) => {
        const email = uniqueEmail();
        await site.signUp(email);
        const messages = recordConsole(page);
        await page.route(url, handle);
        const isLate = fault === "late";
        const isLost = !isLate && SCRIPTS_OF_THE_FORM.includes(script);
        const failure = isLost ? waitForFailure(page) : undefined;
        // A late script delays the end of loading too.
        await page.goto("/", { waitUntil: isLate ? "commit" : "networkidle" });
        await landing.scrollThroughIslands();
        await failure;
        await landing.email.focus();
        const isSilent = isLate || script === "the boot script";
        expect(messages.length, "lines on the console").toBeLessThanOrEqual(isSilent ? 0 : 1);
        expect(messages.filter((message) => !FAILURE.test(message))).toEqual([]);
        await landing.signUp(email);
        await expect(landing.message).toHaveText("Email already on waitlist");
        await expect(landing.message).toBeInViewport();
      });
    }
  }

  test("islands that failed offline load when they are touched or seen again", async ({
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
    // The first failure is logged. Wait until every island has given up.
    await landing.waitForIntersectionObservers();
    await expect(page.locator("[data-started]")).toHaveCount(0);
    expect(messages).toEqual([expect.stringMatching(FAILURE)]);
    await context.setOffline(false);
    await landing.email.focus();
    await landing.waitForIslands("waitlist-form");
    await landing.scrollToTop();
    await landing.waitForIntersectionObservers();
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.waitForIslands("demo-terminal");
    await landing.signUp(uniqueEmail());
    await expect(landing.message).toContainText("You've been added to the waitlist.");
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
    test(`without ${script} the terminal's lines stay dimmed and legible, and its button is not seen`, async ({
      landing,
      page,
    }) => {
      await page.route(SCRIPTS[script], (route) => route.abort());
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      for (const line of await landing.lines.locator("span").all())
        await expect(line).not.toHaveCSS("opacity", "1");
      // A press would be lost, so it can be neither seen nor reached.
      await expect(landing.section("demo").getByRole("button")).toHaveCount(0);
      const contrasts = await measureContrast(page, { selector: ".terminal-lines span" });
      expect(contrasts).toHaveLength(9);
      expect(tooLow(4.5, contrasts)).toEqual([]);
    });
  }
});
