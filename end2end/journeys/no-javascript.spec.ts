/** Spec §4 and §8 without JavaScript: the browser posts the form, and the next page shows the outcome. */
import { expect, test, uniqueEmail } from "./fixtures.ts";
import { eventually } from "./visitor.ts";

const LISTED = "somebody.listed@example.com";
/** The browser accepts it; the server rejects more than 64 characters before the @. */
const TOO_LONG = `${"a".repeat(65)}@example.com`;

test.describe("without JavaScript", { tag: ["@core", "@chromium", "@no-javascript"] }, () => {
  test.beforeEach(({ visitor }) => visitor.open());

  test("§8 a success is in view, and the field is empty", async ({ site, visitor }) => {
    const email = uniqueEmail();
    await visitor.typeEmail(email);
    await visitor.push("Join the Waitlist");
    await eventually(() => visitor.title()).toBe("Success! — Steward");
    expect(await visitor.message()).toBe(
      "You've been added to the waitlist. We'll notify you when Steward is ready.",
    );
    await eventually(() => visitor.isInView(".waitlist-message")).toBe(true);
    expect((await visitor.form()).email).toBe("");
    expect(await visitor.count()).toBe(`${await site.count()} entrepreneurs already on the list`);
    expect(await site.signUp(email)).toBe(409);
  });

  for (const [situation, email, text] of [
    ["§8 409", LISTED, "Email already on waitlist"],
    ["§8 400", TOO_LONG, "Please enter a valid email address"],
    ["§5 an empty field", "", "Please enter your email address"],
  ] as const) {
    test(`${situation} is in view, and the field keeps the address`, async ({ site, visitor }) => {
      await site.signUp(LISTED);
      await visitor.signUp(email);
      await eventually(() => visitor.title()).toBe(`Error: ${text} — Steward`);
      expect(await visitor.message()).toBe(text);
      await eventually(() => visitor.isInView(".waitlist-message")).toBe(true);
      expect((await visitor.form()).email).toBe(email);
    });
  }
});
