/** The pages that messages lead to: confirming an address, and leaving the list. */
import { mergeTests } from "@playwright/test";
import {
  CODE,
  CONFIRM_LINK,
  confirmingTest,
  testWithMail,
  UNSUBSCRIBE_LINK,
} from "../support/mail-server.ts";
import { misplacedText } from "../support/text-layout.ts";
import { expect, test as base, uniqueEmail } from "./fixtures.ts";
import { eventually } from "./visitor.ts";

const test = mergeTests(base, confirmingTest);

test(
  "the code confirms the address, and leads to an invitation",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ mail, visitor }) => {
    const email = uniqueEmail();
    await visitor.open();
    expect(await visitor.attributes("input[name=code]", "name"), "before the sign-up").toEqual([]);
    await visitor.signUp(email);
    await eventually(() => visitor.text(".waitlist-lead")).toContain(`we sent a code to ${email}`);
    const code = await mail.receive(email, CODE);
    await visitor.typeCode(code === "123456" ? "654321" : "123456");
    await eventually(() => visitor.text("main")).toContain("That code is wrong");
    await visitor.typeCode(code);
    await eventually(() => visitor.text("main")).toContain("Your address is confirmed");
    await eventually(() => visitor.text("main")).toMatch(/You’re number \d+ in line/);
    // Without the form's script, the link is on a page of its own.
    if ((await visitor.texts("div.waitlist")).length === 0) return;
    await visitor.push("Copy link");
    // Chromium does not let a window copy that has not the focus.
    await eventually(() => visitor.text("div.waitlist .button")).toMatch(/^(Copied|Not copied)$/);
  },
);

test(
  "the button of the link's page confirms the address",
  { tag: ["@core", "@no-javascript"] },
  async ({ mail, site, visitor }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    const link = await mail.receive(email, CONFIRM_LINK);
    // The page alone confirms nothing.
    await visitor.open(link);
    await visitor.open(link);
    expect(await visitor.text("h1")).toBe("Confirm your address");
    await visitor.push("Confirm");
    await eventually(() => visitor.text("h1")).toBe("Your address is confirmed");
    expect(await visitor.text("main")).toMatch(/in line.*http:\/\/site\.test\/\?ref=invite-/);
    expect(await visitor.evaluate(misplacedText)).toEqual([]);
    await visitor.follow("Go to Home Page");
    await eventually(() => visitor.path()).toBe("/");
  },
);

mergeTests(base, testWithMail)(
  "the link of a message leads to a page that takes the person off the list",
  { tag: ["@core", "@everywhere"] },
  async ({ mail, site, visitor }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    await site.sendMessage(email, "Hello", mail.url);
    const link = await mail.receive(email, UNSUBSCRIBE_LINK);
    // The page alone takes nobody off the list.
    await visitor.open(link);
    await visitor.open(link);
    expect(await visitor.text("h1")).toBe("Leave the waitlist?");
    expect(await visitor.evaluate(misplacedText)).toEqual([]);
    await visitor.push("Unsubscribe");
    await eventually(() => visitor.text("h1")).toBe("You have left the waitlist");
    await visitor.follow("Join again");
    await eventually(() => visitor.path()).toBe("/#contact");
  },
);
