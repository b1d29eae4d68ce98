/** Spec §4 and §9: toasts and tooltips. The tests in vitest measure their times. */
import { expect, test } from "./fixtures.ts";
import { eventually, KEYS } from "./visitor.ts";

test("§9 at most one toast is visible, and it closes", { tag: "@core" }, async ({ visitor }) => {
  await visitor.openForm();
  // The field has the focus, which leaving takes away.
  await visitor.submit();
  await visitor.leaveAndReturn();
  for (let time = 0; time < 3; time += 1) {
    await visitor.submit();
    await eventually(() => visitor.toasts()).toHaveLength(1);
  }
  await eventually(() => visitor.toasts()).toEqual([]);
});

test(
  "§9 F8 focuses the toasts, and the keyboard closes one from there",
  { tag: ["@core", "@chromium"] },
  async ({ visitor }) => {
    await visitor.openForm();
    await visitor.submit();
    await eventually(() => visitor.toasts()).toHaveLength(1);
    await visitor.press(KEYS.f8, KEYS.tab, KEYS.tab);
    await eventually(() => visitor.focus()).toBe("Close");
    await visitor.press(KEYS.enter);
    await eventually(() => visitor.toasts()).toEqual([]);
    await eventually(() => visitor.focus()).toBe("Email address");
  },
);

test(
  "§9 a swipe of 70 px to the right closes a toast, one of 40 px does not",
  { tag: ["@core", "@chromium"] },
  async ({ visitor }) => {
    await visitor.openForm();
    await visitor.submit();
    await eventually(() => visitor.toasts()).toHaveLength(1);
    await visitor.swipeToast(40);
    expect(await visitor.attributes(".toast", "data-state")).toEqual(["open"]);
    await visitor.swipeToast(70);
    await eventually(() => visitor.toasts(), { timeout: 3000 }).toEqual([]);
  },
);

test(
  "§9 a tooltip opens under the pointer",
  { tag: ["@core", "@chromium", "@hover"] },
  async ({ visitor }) => {
    await visitor.openForm();
    await visitor.waitForIslands("contact-links");
    await visitor.scrollTo("#contact .contact-links");
    await visitor.pointAt("Email us");
    await eventually(() => visitor.texts("[role=tooltip]")).toHaveLength(1);
  },
);
