/** Spec §4, §5 and §8: signing up with JavaScript. */
import { expect, startSite, test, uniqueEmail } from "./fixtures.ts";
import { eventually, Visitor } from "./visitor.ts";

const JOINED = "You've been added to the waitlist. We'll notify you when Steward is ready.";
const FAILED = "Failed to add to waitlist. Please try again.";

test(
  "§4 while submitting, field and button are disabled and the button says Adding...",
  { tag: "@core" },
  async ({ site, visitor }) => {
    await visitor.openForm();
    site.pause();
    await visitor.signUp(uniqueEmail());
    await eventually(() => visitor.form()).toMatchObject({ isEnabled: false, button: "Adding..." });
    site.resume();
    const idle = { email: "", isEnabled: true, button: "Join the Waitlist" };
    await eventually(() => visitor.form()).toEqual(idle);
  },
);

test(
  "§4 a success empties the field, shows a toast and updates the count",
  { tag: "@core" },
  async ({ site, visitor }) => {
    await visitor.openForm();
    const email = uniqueEmail();
    await visitor.typeEmail(email);
    await visitor.push("Join the Waitlist");
    await eventually(() => visitor.toasts()).toEqual([
      { text: `Success! ${JOINED}`, variant: "default" },
    ]);
    expect((await visitor.form()).email).toBe("");
    expect(await visitor.message()).toBe(JOINED);
    const count = `${await site.count()} entrepreneurs already on the list`;
    await eventually(() => visitor.count()).toBe(count);
    expect(await site.signUp(email)).toBe(409);
  },
);

const LISTED = "Somebody.Listed@Example.com";
/** The browser accepts it; the server rejects more than 64 characters before the @. */
const TOO_LONG = `${"a".repeat(65)}@example.com`;

for (const [situation, email, text] of [
  ["§8 409", LISTED, "Email already on waitlist"],
  ["§8 400", TOO_LONG, "Please enter a valid email address"],
  ["§5 an empty field", "", "Please enter your email address"],
] as const) {
  test(
    `${situation} shows ${text} and keeps the address`,
    { tag: "@core" },
    async ({ site, visitor }) => {
      await site.signUp(LISTED.toLowerCase());
      await visitor.openForm();
      await visitor.signUp(email);
      await eventually(() => visitor.toasts()).toEqual([
        { text: `Error ${text}`, variant: "destructive" },
      ]);
      expect((await visitor.form()).email).toBe(email);
      await eventually(() => visitor.focus()).toBe("Email address");
    },
  );
}

test(
  "§5 the domain may be in another script, in any spelling",
  { tag: ["@core", "@chromium"] },
  async ({ site, visitor }) => {
    await visitor.openForm();
    const name = uniqueEmail().replace("@", ".");
    await visitor.signUp(`${name}@bücher.example`);
    await eventually(() => visitor.message()).toBe(JOINED);
    expect(await site.signUp(`${name}@BÜCHER.example`)).toBe(409);
    expect(await site.signUp(`${name}@xn--bcher-kva.example`)).toBe(409);
  },
);

test("§5 the browser rejects a malformed address", { tag: "@core" }, async ({ visitor }) => {
  await visitor.openForm();
  await visitor.typeEmail("not an address");
  await visitor.push("Join the Waitlist");
  await eventually(() => visitor.message()).toBe("Please enter a valid email address");
  await eventually(() => visitor.focus()).toBe("Email address");
  expect(await visitor.toasts()).toEqual([]);
});

test(
  "§8 without a connection Please try again is shown, and the address stays",
  { tag: ["@core", "@chromium"] },
  async ({ visitor: { driver } }) => {
    const site = await startSite();
    const visitor = new Visitor(driver, site.origin);
    await visitor.openForm();
    await site.stop();
    const email = uniqueEmail();
    await visitor.signUp(email);
    await eventually(() => visitor.toasts()).toEqual([
      { text: `Error ${FAILED}`, variant: "destructive" },
    ]);
    expect(await visitor.form()).toMatchObject({ email, isEnabled: true });
  },
);
