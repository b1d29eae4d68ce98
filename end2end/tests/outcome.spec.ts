/** A visitor learns the outcome of a sign-up, whichever script is lost or late, and keeps it in view. */
import type { Page } from "@playwright/test";
import { expect, freshAddress, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";

/** The scripts of the page, each by a pattern. */
const SCRIPTS = [
  "**/islands/boot-*",
  "**/pkg/*.js",
  "**/pkg/*.wasm",
  "**/islands/chunk-*",
  "**/islands/waitlist-form-*",
  "**/islands/toaster-*",
  "**/islands/contact-links-*",
  "**/islands/demo-terminal-*",
];

/** Signs up with an address that is listed: by toast, by the line below the field, or by a page. */
async function expectToldOfConflict(
  landing: LandingPage,
  page: Page,
  email: string,
): Promise<void> {
  await landing.section("contact").scrollIntoViewIfNeeded();
  await landing.join(email);
  await expect(landing.message).toHaveText("Email already on waitlist");
  await expect(landing.message).toBeInViewport();
  await expect(page.getByText("Email already on waitlist").first()).toBeVisible();
}

test.describe("one script", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource|the islands failed to load/ });

  for (const script of SCRIPTS) {
    test(`${script} is lost: the visitor is told`, async ({ landing, page, site }) => {
      const email = freshAddress();
      await site.join(email);
      await page.route(script, (route) => route.abort());
      await landing.open();
      await page.waitForLoadState("networkidle");
      await expectToldOfConflict(landing, page, email);
    });

    test(`${script} is late: the visitor is told before it comes`, async ({
      landing,
      page,
      site,
    }) => {
      const email = freshAddress();
      await site.join(email);
      const letGo = await landing.hold(script);
      await page.goto("/", { waitUntil: "commit" });
      await landing.section("contact").scrollIntoViewIfNeeded();
      await landing.join(email);
      await expect(landing.message).toHaveText("Email already on waitlist");
      await expect(landing.message).toBeInViewport();
      letGo();
    });
  }

  test("a page opened at the form leaves the focus in the field when its scripts come", async ({
    landing,
    page,
  }) => {
    const letGo = [await landing.hold("**/islands/*"), await landing.hold("**/pkg/*")];
    await page.goto("/#contact", { waitUntil: "commit" });
    await expect(landing.email).toBeInViewport();
    await landing.email.click();
    await page.keyboard.type("ann@");
    for (const release of letGo) release();
    await landing.ready("waitlist-form");
    await page.keyboard.type("example.com");
    await expect(landing.email).toHaveValue("ann@example.com");
  });

  test("a screen reader hears the outcome from the page when there is no toaster", async ({
    landing,
    page,
  }) => {
    await page.route("**/islands/toaster-*", (route) => route.abort());
    await landing.open();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await landing.ready("waitlist-form");
    await landing.submit.click();
    await expect(page.getByRole("status")).toHaveText("Please enter your email address");
  });

  test("the toaster is asked for when the form is touched", async ({ landing, page }) => {
    const letGo = await landing.hold("**/islands/waitlist-form-*");
    await landing.open();
    await page.waitForLoadState("networkidle");
    const toaster = page.waitForRequest("**/islands/toaster-*");
    await landing.email.focus();
    await toaster;
    letGo();
    await landing.ready("waitlist-form");
  });

  test("an island that failed while offline comes back when it is touched or seen", async ({
    context,
    landing,
    page,
  }) => {
    const host = page.waitForResponse("**/pkg/*.wasm");
    await landing.open();
    await (await host).finished();
    await context.setOffline(true);
    const told = page.waitForEvent("console", (line) => line.text().includes("failed to load"));
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await told;
    await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
    await context.setOffline(false);
    await landing.email.focus();
    await landing.ready("waitlist-form");
    await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
    await landing.observersTold();
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.ready("demo-terminal");
  });

  test("a host that failed comes back at the next touch", async ({ landing, page }) => {
    let lost = true;
    await page.route("**/pkg/*.wasm", (route) => (lost ? route.abort() : route.continue()));
    const told = page.waitForEvent("console", (line) => line.text().includes("failed to load"));
    await landing.open();
    await told;
    lost = false;
    await landing.email.focus();
    await landing.ready("waitlist-form");
  });

  for (const script of ["**/islands/boot-*", "**/islands/demo-terminal-*"]) {
    test(`without ${script} the nine lines are fully legible`, async ({ landing, page }) => {
      await page.route(script, (route) => route.abort());
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      const opacities = await landing.lines
        .locator("span")
        .evaluateAll((spans) => spans.map((span) => getComputedStyle(span).opacity));
      expect(opacities).toEqual(Array(9).fill("1"));
    });
  }
});

test.describe("the answer", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("stays below the field, which it describes, after the toast has gone", async ({
    landing,
    page,
    site,
  }) => {
    await page.clock.install();
    const email = freshAddress();
    await site.join(email);
    await landing.openForm();
    await page.mouse.move(5, 300);
    await landing.email.fill(email);
    await landing.email.press("Enter");
    await expect(landing.toasts).toHaveCount(1);
    await page.clock.runFor(10_000);
    await expect(landing.toasts).toHaveCount(0);
    await expect(landing.message).toHaveText("Email already on waitlist");
    await expect(landing.email).toHaveAccessibleDescription("Email already on waitlist");
    await landing.email.press("End");
    await landing.email.press("x");
    await expect(landing.message).toHaveText("We'll email you when Steward is ready.");
  });

  test("moves nothing when it comes", async ({ landing, page }) => {
    for (const width of [320, 390, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await landing.openForm();
      const before = await landing.submit.boundingBox();
      await landing.submit.click();
      await expect(landing.message).toHaveText("Please enter your email address");
      expect(await landing.submit.boundingBox(), `${width} px`).toEqual(before);
    }
  });

  test("in Safari, where a clicked button takes no focus, brings the focus to the field", async ({
    landing,
    page,
  }) => {
    await landing.openForm();
    await landing.email.fill(`${"a".repeat(65)}@example.com`);
    await page.locator("main").evaluate((main) => {
      document.querySelector(".waitlist button")?.addEventListener("click", () => main.focus());
    });
    await landing.submit.click();
    await expect(landing.message).toHaveText("Please enter a valid email address");
    await expect(landing.email).toBeFocused();
  });

  for (const [width, height] of [
    [568, 320],
    [320, 256],
    [667, 375],
  ] as const) {
    test(`leaves the field in view in a window of ${width} × ${height}`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      const bar = await landing.bar.boundingBox();
      expect(bar?.height).toBeLessThanOrEqual(50);
      for (const link of await landing.nav.getByRole("link").all()) {
        await link.click({ trial: true, timeout: 5_000 });
      }
      for (const block of ["start", "center", "end", "nearest"] as const) {
        await landing.email.evaluate(
          (field, block) => field.scrollIntoView({ block, behavior: "instant" }),
          block,
        );
        await landing.email.press("Enter");
        await expect(landing.toasts).toHaveCount(1);
        await landing.stopMoving();
        await expect(landing.email).toBeFocused();
        await expect(landing.toasts).toBeInViewport({ ratio: 1 });
        const [field, toast] = [
          await landing.email.boundingBox(),
          await landing.toasts.boundingBox(),
        ];
        if (!field || !toast || !bar)
          throw new Error("the field, the toast or the bar is not there");
        expect(field.y, `${block}: below the bar`).toBeGreaterThanOrEqual(bar.height);
        expect(field.y + field.height, `${block}: above the toast`).toBeLessThanOrEqual(toast.y);
        // On the narrow one the button stands below the field.
        if (width > 320) {
          const button = await landing.submit.boundingBox();
          expect(button?.y, `${block}: beside the field`).toBe(field.y);
        }
      }
    });
  }

  test("on a wide window the toast stands near the form", async ({ landing, page }) => {
    for (const [width, height] of [
      [1280, 800],
      [1920, 1080],
    ] as const) {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      const contact = landing.section("contact");
      await contact.evaluate((section) => section.scrollIntoView({ behavior: "instant" }));
      await landing.submit.click();
      await landing.keepToast();
      await landing.stopMoving();
      const [field, toast] = [
        await landing.email.boundingBox(),
        await landing.toasts.boundingBox(),
      ];
      if (!field || !toast) throw new Error("the field or the toast is not there");
      expect(field.y - (toast.y + toast.height), `${width} px`).toBeGreaterThanOrEqual(0);
      expect(field.y - (toast.y + toast.height), `${width} px`).toBeLessThan(250);
    }
  });
});

test.describe("the answer without JavaScript", { tag: "@no-javascript" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("marks and describes the field, and is in the title", async ({ landing, page }) => {
    await landing.open();
    await landing.join(`${"a".repeat(65)}@example.com`);
    await expect(landing.email).toHaveAttribute("aria-invalid", "true");
    await expect(landing.email).toHaveAccessibleDescription("Please enter a valid email address");
    await expect(page).toHaveTitle("Error: Please enter a valid email address — Steward");
  });

  test("to a success stays the same when the page is loaded again", async ({
    landing,
    page,
    site,
  }) => {
    await landing.open();
    const email = freshAddress();
    await landing.join(email);
    await expect(landing.message).toContainText("You've been added to the waitlist.");
    const count = await site.count();
    await page.reload();
    await expect(landing.message).toContainText("You've been added to the waitlist.");
    expect(await site.count()).toBe(count);
  });

  for (const [width, height] of [
    [568, 320],
    [320, 256],
  ] as const) {
    test(`is in view in a window of ${width} × ${height}`, async ({ landing, page }) => {
      await page.setViewportSize({ width, height });
      await landing.open();
      await landing.join("");
      await expect(landing.message).toHaveText("Please enter your email address");
      await expect(landing.message).toBeInViewport({ ratio: 1 });
    });
  }
});
