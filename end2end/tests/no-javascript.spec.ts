/** The form without JavaScript: it posts itself, and the page that comes back says what happened. */
import { expect, freshAddress, test } from "../fixtures.ts";

test.describe("without JavaScript", { tag: "@no-javascript" }, () => {
  test.beforeEach(({ landing }) => landing.open());

  test("§8 success: the page says so, in view, with an empty field", async ({
    landing,
    page,
    site,
  }) => {
    const email = freshAddress();
    await landing.join(email);
    await expect(landing.message).toBeInViewport();
    await expect(landing.message).toHaveText(
      "You've been added to the waitlist. We'll notify you when Steward is ready.",
    );
    await expect(page).toHaveTitle("Success! — Steward");
    await expect(landing.email).toHaveValue("");
    expect(await site.join(email)).toBe(409);
    await expect(landing.count).toHaveText(
      `${await site.count()} entrepreneurs already on the list`,
    );
  });

  test.describe("§8 errors", () => {
    test.use({ expectedConsole: /Failed to load resource/ });

    test("§8 409: the page says so and keeps the field", async ({ landing, page, site }) => {
      const email = freshAddress();
      await site.join(email);
      await landing.join(email);
      await expect(landing.message).toHaveText("Email already on waitlist");
      await expect(landing.message).toBeInViewport();
      await expect(page).toHaveTitle("Error: Email already on waitlist — Steward");
      await expect(landing.email).toHaveValue(email);
    });

    test("§8 400: the page says so and keeps the field", async ({ landing }) => {
      const email = `${"a".repeat(65)}@example.com`;
      await landing.join(email);
      await expect(landing.message).toHaveText("Please enter a valid email address");
      await expect(landing.email).toHaveValue(email);
    });

    test("§8 empty: the page says so", async ({ landing }) => {
      await landing.join("");
      await expect(landing.message).toHaveText("Please enter your email address");
    });
  });

  test("§4 all nine lines of the demo are there to read", async ({ landing }) => {
    await expect(landing.lines).toHaveCount(9);
    const colours = await landing.lines.evaluateAll((lines) =>
      lines.map((line) => getComputedStyle(line).color),
    );
    expect(new Set(colours).size, "no line is dimmed").toBe(1);
  });
});
