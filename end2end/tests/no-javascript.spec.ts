/** The form without JavaScript: the browser posts it, and the next page shows the outcome. */
import { expect, test, uniqueEmail } from "../support/fixtures.ts";

test.describe("without JavaScript", { tag: "@no-javascript" }, () => {
  test.beforeEach(({ landing }) => landing.open());

  test("§8 success: the page shows it in view, with an empty field", async ({
    landing,
    page,
    site,
  }) => {
    const email = uniqueEmail();
    await landing.signUp(email);
    await expect(landing.message).toBeInViewport();
    await expect(landing.message).toHaveText(
      "You've been added to the waitlist. We'll notify you when Steward is ready.",
    );
    await expect(page).toHaveTitle("Success! — Steward");
    await expect(landing.email).toHaveValue("");
    expect(await site.signUp(email)).toBe(409);
    await expect(landing.count).toHaveText(
      `${await site.count()} entrepreneurs already on the list`,
    );
  });

  test.describe("§8 errors", () => {
    test.use({ expectedConsole: /Failed to load resource/ });

    test("§8 409: the page shows the error and keeps the address", async ({
      landing,
      page,
      site,
    }) => {
      const email = uniqueEmail();
      await site.signUp(email);
      await landing.signUp(email);
      await expect(landing.message).toHaveText("Email already on waitlist");
      await expect(landing.message).toBeInViewport();
      await expect(page).toHaveTitle("Error: Email already on waitlist — Steward");
      await expect(landing.email).toHaveValue(email);
    });

    test("§8 400: the page shows the error and keeps the address", async ({ landing }) => {
      const email = `${"a".repeat(65)}@example.com`;
      await landing.signUp(email);
      await expect(landing.message).toHaveText("Please enter a valid email address");
      await expect(landing.email).toHaveValue(email);
    });

    test("§8 empty field: the page shows the error", async ({ landing }) => {
      await landing.signUp("");
      await expect(landing.message).toHaveText("Please enter your email address");
    });
  });

  test("§4 all nine lines of the demo are shown", async ({ landing }) => {
    await expect(landing.lines).toHaveCount(9);
    const colours = await landing.lines.evaluateAll((lines) =>
      lines.map((line) => getComputedStyle(line).color),
    );
    expect(new Set(colours).size, "no line is dimmed").toBe(1);
  });
});
