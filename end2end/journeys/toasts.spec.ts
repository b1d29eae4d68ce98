/** Spec §4 and §9: toasts and tooltips, in real time. */
import { expect, test } from "./fixtures.ts";
import { eventually, KEYS, type Visitor } from "./visitor.ts";

/** A busy machine may show something this much later than its timer. */
const BUSY = 600;
const SLIDE_OUT = 1000;

/** The moments at which something appears and disappears, in milliseconds. */
async function recordPresence(visitor: Visitor, selector: string): Promise<void> {
  await visitor.evaluate((selector) => {
    let wasPresent = false;
    const times: number[] = [];
    new MutationObserver(() => {
      const isPresent = document.querySelector(selector) !== null;
      if (isPresent !== wasPresent) times.push(performance.now());
      wasPresent = isPresent;
      document.documentElement.dataset["times"] = JSON.stringify(times);
    }).observe(document.body, { subtree: true, childList: true });
  }, selector);
}

function presenceTimes(visitor: Visitor): Promise<number[]> {
  return visitor.evaluate(() => JSON.parse(document.documentElement.dataset["times"] ?? "[]"));
}

test("§9 at most one toast is visible", { tag: "@core" }, async ({ visitor }) => {
  await visitor.openForm();
  await visitor.submit();
  await eventually(() => visitor.toasts()).toHaveLength(1);
  await visitor.submit();
  await visitor.submit();
  await eventually(() => visitor.toasts()).toHaveLength(1);
});

test("§9 a toast is visible for 5000 ms", { tag: "@core" }, async ({ visitor }) => {
  // Again if the machine stalls.
  await expect(async () => {
    await visitor.openForm();
    await recordPresence(visitor, ".toast");
    await visitor.submit();
    await eventually(() => visitor.toasts()).toHaveLength(1);
    await eventually(() => visitor.toasts()).toEqual([]);
    const [shown = 0, hidden = 0] = await presenceTimes(visitor);
    expect(hidden - shown).toBeGreaterThan(5000 - BUSY);
    expect(hidden - shown).toBeLessThan(5000 + SLIDE_OUT + BUSY);
  }).toPass();
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
  "§9 a tooltip opens after 700 ms",
  { tag: ["@core", "@chromium", "@hover"] },
  async ({ visitor }) => {
    await visitor.openForm();
    await visitor.waitForIslands("contact-links");
    await recordPresence(visitor, "[role=tooltip]");
    await visitor.scrollTo("#contact .contact-links");
    const start = await visitor.evaluate(() => performance.now());
    await visitor.pointAt("Email us");
    await eventually(() => visitor.texts("[role=tooltip]")).toHaveLength(1);
    const [shown = 0] = await presenceTimes(visitor);
    expect(shown - start).toBeGreaterThan(700);
    expect(shown - start).toBeLessThan(700 + 5 * BUSY);
  },
);
