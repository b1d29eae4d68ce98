/** Spec §4 and §8 without JavaScript: the browser posts the form, and the next page shows the outcome. */
import { expect, test, uniqueEmail } from "./fixtures.ts";
import { eventually } from "./visitor.ts";

test.describe("without JavaScript", { tag: "@no-javascript" }, () => {
  test.beforeEach(({ visitor }) => visitor.open());

  test(
    "§8 a success is in view, and the field is empty",
    { tag: ["@core", "@chromium"] },
    async ({ site, visitor }) => {
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
    },
  );

  test(
    "§8 409 is in view, and the field keeps the address",
    { tag: ["@core", "@chromium"] },
    async ({ site, visitor }) => {
      const email = uniqueEmail();
      await site.signUp(email);
      await visitor.signUp(email);
      await eventually(() => visitor.title()).toBe("Error: Email already on waitlist — Steward");
      expect(await visitor.message()).toBe("Email already on waitlist");
      await eventually(() => visitor.isInView(".waitlist-message")).toBe(true);
      expect((await visitor.form()).email).toBe(email);
    },
  );

  test(
    "§8 400 is shown, and the field keeps the address",
    { tag: "@core" },
    async ({ visitor }) => {
      const email = `${"a".repeat(65)}@example.com`;
      await visitor.signUp(email);
      await eventually(() => visitor.message()).toBe("Please enter a valid email address");
      expect((await visitor.form()).email).toBe(email);
    },
  );

  test("§5 an empty field is an error", { tag: "@core" }, async ({ visitor }) => {
    await visitor.submit();
    await eventually(() => visitor.message()).toBe("Please enter your email address");
  });
});
