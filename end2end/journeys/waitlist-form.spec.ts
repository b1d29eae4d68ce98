/** Spec §3, §4, §5, §7 and §8: signing up with JavaScript. */
import { expect, test, uniqueEmail } from "./fixtures.ts";
import { eventually } from "./visitor.ts";

const COUNT = "GET /api/waitlist/count";
const JOIN = "POST /api/waitlist";
const JOINED = "You've been added to the waitlist. We'll notify you when Steward is ready.";
const FAILED = "Failed to add to waitlist. Please try again.";

test(
  "§4 while submitting, field and button are disabled and the button says Adding...",
  { tag: "@core" },
  async ({ network, visitor }) => {
    const release = network.hold(JOIN);
    await visitor.openForm();
    await visitor.signUp(uniqueEmail());
    await eventually(() => visitor.form()).toMatchObject({ isEnabled: false, button: "Adding..." });
    release();
    const idle = { email: "", isEnabled: true, button: "Join the Waitlist" };
    await eventually(() => visitor.form()).toEqual(idle);
  },
);

test(
  "§4 a success empties the field, shows a toast and updates the count",
  { tag: "@core" },
  async ({ network, site, visitor }, testInfo) => {
    await visitor.openForm();
    const email = uniqueEmail();
    await visitor.typeEmail(email);
    await visitor.push("Join the Waitlist");
    await eventually(() => visitor.toasts()).toEqual([
      { text: `Success! ${JOINED}`, variant: "default" },
    ]);
    await visitor.savePicture(testInfo.outputPath("toast.png"));
    expect((await visitor.form()).email).toBe("");
    expect(await visitor.message()).toBe(JOINED);
    const count = `${await site.count()} entrepreneurs already on the list`;
    await eventually(() => visitor.count()).toBe(count);
    expect(apiRequests(network.requests)).toEqual([COUNT, JOIN, COUNT]);
    expect(await site.signUp(email)).toBe(409);
  },
);

test(
  "§8 409 shows Email already on waitlist and keeps the address",
  { tag: "@core" },
  async ({ site, visitor }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    await visitor.openForm();
    await visitor.signUp(email.toUpperCase());
    await eventually(() => visitor.toasts()).toEqual([
      { text: "Error Email already on waitlist", variant: "destructive" },
    ]);
    expect((await visitor.form()).email).toBe(email.toUpperCase());
    await eventually(() => visitor.focus()).toBe("Email address");
  },
);

test(
  "§8 400 shows Please enter a valid email address and keeps the address",
  { tag: "@core" },
  async ({ visitor }) => {
    await visitor.openForm();
    // The browser accepts it; the server rejects more than 64 characters before the @.
    const email = `${"a".repeat(65)}@example.com`;
    await visitor.signUp(email);
    await eventually(() => visitor.toasts()).toEqual([
      { text: "Error Please enter a valid email address", variant: "destructive" },
    ]);
    expect((await visitor.form()).email).toBe(email);
  },
);

test(
  "§5 an empty field shows Please enter your email address and sends no request",
  { tag: "@core" },
  async ({ network, visitor }) => {
    await visitor.openForm();
    await visitor.submit();
    await eventually(() => visitor.toasts()).toEqual([
      { text: "Error Please enter your email address", variant: "destructive" },
    ]);
    expect(network.requests).not.toContain(JOIN);
  },
);

test(
  "§5 the browser rejects a malformed address, and no request is sent",
  { tag: "@core" },
  async ({ network, visitor }) => {
    await visitor.openForm();
    await visitor.typeEmail("not an address");
    await visitor.push("Join the Waitlist");
    await eventually(() => visitor.message()).toBe("Please enter a valid email address");
    await eventually(() => visitor.focus()).toBe("Email address");
    expect(await visitor.toasts()).toEqual([]);
    expect(network.requests).not.toContain(JOIN);
  },
);

test.describe(
  "§8 any other failure shows Please try again and keeps the address",
  { tag: "@core" },
  () => {
    for (const [name, status, body] of [
      // The status counts, not a body that looks like another error.
      ["500", 500, "409: no"],
      ["503", 503, '{"error":"no"}'],
    ] as const) {
      test(`§8 ${name}`, async ({ network, visitor }) => {
        network.respond(JOIN, status, body);
        await visitor.openForm();
        const email = uniqueEmail();
        await visitor.signUp(email);
        await eventually(() => visitor.toasts()).toEqual([
          { text: `Error ${FAILED}`, variant: "destructive" },
        ]);
        expect(await visitor.form()).toMatchObject({ email, isEnabled: true });
        // §7: no retry.
        expect(apiRequests(network.requests)).toEqual([COUNT, JOIN]);
      });
    }

    test("§8 no connection", async ({ network, visitor }) => {
      await visitor.openForm();
      network.disconnect(JOIN);
      const email = uniqueEmail();
      await visitor.signUp(email);
      await eventually(() => visitor.toasts()).toEqual([
        { text: `Error ${FAILED}`, variant: "destructive" },
      ]);
      expect(await visitor.form()).toMatchObject({ email, isEnabled: true });
    });
  },
);

test(
  "§3 the count is shown as N entrepreneurs, and a missing one as 0",
  { tag: "@core" },
  async ({ network, visitor }) => {
    network.respond(COUNT, 200, '{"count": 1234}');
    await visitor.openForm();
    await eventually(() => visitor.count()).toBe("1234 entrepreneurs already on the list");
    network.respond(COUNT, 200, "{}");
    await visitor.openForm();
    await eventually(() => visitor.count()).toBe("0 entrepreneurs already on the list");
  },
);

const apiRequests = (requests: string[]) => requests.filter((name) => name.includes(" /api/"));
