/** What moves: only what costs no layout, nothing for those who asked for none, and each state of a
 * control so that it is seen. */
import type { Locator, Page } from "@playwright/test";
import { expect, freshAddress, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";

/** What a browser animates without laying out or painting anew. */
const CHEAP = ["transform", "opacity"];

test.describe("style sheets", { tag: "@once" }, () => {
  test("every transition and every keyframe touches only transform and opacity", async ({
    landing,
    page,
  }) => {
    await landing.open();
    const { transitions, keyframes } = await page.evaluate(() => {
      const transitions: string[] = [];
      const keyframes: string[] = [];
      /** The property of each part; without one a transition is of all. */
      function propertiesOf(transition: string): string[] {
        const parts = transition.replaceAll(/\([^()]*\)/g, "").split(",");
        const other = /^(ease|linear|step|normal|allow-discrete|var|cubic|[\d.-]+m?s)/;
        return parts.map((part) => {
          return (
            part
              .trim()
              .split(/\s+/)
              .find((word) => !other.test(word)) ?? "all"
          );
        });
      }
      /** Also those within layers, media, containers and other rules. */
      function walk(rules: CSSRuleList | CSSRule[]) {
        for (const rule of rules) {
          if (rule instanceof CSSKeyframeRule) keyframes.push(...rule.style);
          if (rule instanceof CSSStyleRule || rule.constructor.name === "CSSNestedDeclarations") {
            const { style } = rule as CSSStyleRule;
            // With a variable in it, a shorthand has no longhands yet.
            const written = style.transition || style.transitionProperty;
            if (written) transitions.push(...propertiesOf(written));
          }
          if ("cssRules" in rule) walk(rule.cssRules as CSSRuleList);
          if (rule instanceof CSSImportRule && rule.styleSheet) walk(rule.styleSheet.cssRules);
        }
      }
      for (const sheet of [...document.styleSheets, ...document.adoptedStyleSheets]) {
        walk(sheet.cssRules);
      }
      return { transitions, keyframes };
    });
    expect(transitions.length).toBeGreaterThan(3);
    expect(keyframes.length).toBeGreaterThan(1);
    const touched = new Set([...transitions, ...keyframes]);
    for (const harmless of ["none", "animation-timing-function"]) touched.delete(harmless);
    expect([...touched].sort()).toEqual(CHEAP.toSorted());
  });

  test("what really runs touches only transform and opacity too", async ({ landing, page }) => {
    const ran = await recordMotion(page);
    await throughAllStates(page, landing);
    const properties = (await ran()).map((motion) => motion.split(" ")[0]);
    expect(properties.length).toBeGreaterThan(2);
    const isKeyframes = (name: string | undefined) => ["toast-in", "busy"].includes(name ?? "");
    const others = properties.filter((name) => !isKeyframes(name) && !CHEAP.includes(name ?? ""));
    expect(others).toEqual([]);
  });
});

test.describe("reduced motion", { tag: "@once" }, () => {
  test.use({ contextOptions: { reducedMotion: "reduce" } });

  test("under reduced motion nothing moves in any state", async ({ landing, page }) => {
    const ran = await recordMotion(page);
    await throughAllStates(page, landing);
    expect(await ran()).toEqual([]);
  });
});

for (const width of [320, 390, 1280]) {
  test(
    `the button keeps its width to the pixel, idle, busy and idle again, at ${width} px`,
    { tag: "@once" },
    async ({ landing, page }) => {
      await page.setViewportSize({ width, height: 800 });
      const letGo = await landing.hold("**/api/waitlist");
      await landing.openForm();
      const idle = await landing.submit.boundingBox();
      const field = await landing.email.boundingBox();
      await landing.join(freshAddress());
      await expect(landing.submit).toHaveText("Adding...");
      expect((await landing.submit.boundingBox())?.width).toBe(idle?.width);
      expect((await landing.submit.boundingBox())?.height).toBe(idle?.height);
      expect((await landing.email.boundingBox())?.width).toBe(field?.width);
      letGo();
      await expect(landing.submit).toHaveText("Join the Waitlist");
      expect((await landing.submit.boundingBox())?.width).toBe(idle?.width);
    },
  );
}

test.describe("states", { tag: "@once" }, () => {
  /** The control as a picture, when all that moves has come to its end. */
  async function picture(control: Locator): Promise<string> {
    return (await control.screenshot({ animations: "disabled", caret: "hide" })).toString("base64");
  }

  /** Under the pointer a control looks different, and pressed it moves. */
  async function expectStates(page: Page, control: Locator): Promise<void> {
    await control.scrollIntoViewIfNeeded();
    await page.mouse.move(0, 0);
    const idle = await picture(control);
    expect(await picture(control), "two pictures of the same").toBe(idle);
    await expect(control).not.toHaveCSS("transform", /matrix/);
    await control.hover();
    expect((await picture(control)) === idle, "hovered looks as idle").toBe(false);
    await page.mouse.down();
    await expect(control).toHaveCSS("transform", /matrix/);
    await page.mouse.up();
  }

  test("buttons and links answer the pointer", async ({ landing, page }) => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    await landing.openForm();
    // A click scrolls on: the lower ones come last.
    for (const name of ["Get Started", "Launch Your AI Agent", "Watch Demo"]) {
      await expectStates(page, page.getByRole("link", { name }));
    }
    await landing.email.scrollIntoViewIfNeeded();
    await expectStates(page, landing.submit);
    for (const link of [
      landing.nav.getByRole("link", { name: "Demo" }),
      page.getByRole("link", { name: "Follow the launch" }),
    ]) {
      await page.mouse.move(0, 0);
      const idle = await picture(link);
      await link.hover();
      expect((await picture(link)) === idle, "hovered looks as idle").toBe(false);
    }
  });

  test("the form shows that it is busy, refused and taken", async ({ landing, page }) => {
    const letGo = await landing.hold("**/api/waitlist");
    await landing.openForm();
    await page.mouse.move(0, 0);
    const colour = () => landing.email.evaluate((node) => getComputedStyle(node).borderTopColor);
    const pictures = async () => ({
      field: await picture(landing.email),
      button: await picture(landing.submit),
      border: await colour(),
      fill: await landing.submit.evaluate((node) => getComputedStyle(node).backgroundColor),
    });
    const idle = await pictures();

    await landing.email.press("Enter");
    await expect(landing.email).toHaveAttribute("aria-invalid", "true");
    await landing.email.blur();
    const refused = await pictures();
    await landing.email.fill(freshAddress());
    await expect(landing.email).toHaveAttribute("aria-invalid", "false");

    await landing.email.press("Enter");
    await expect(landing.form).toHaveAttribute("aria-busy", "true");
    const busy = await pictures();

    letGo();
    await expect(landing.form).toHaveAttribute("data-outcome", "joined");
    await expect(landing.submit).toBeFocused();
    await landing.submit.blur();
    const joined = await pictures();

    for (const [name, state] of Object.entries({ refused, busy, joined })) {
      expect(state.field === idle.field, `the field when ${name}`).toBe(false);
    }
    expect(new Set([idle, refused, joined].map(({ border }) => border)).size).toBe(3);
    expect(busy.button === idle.button, "the button when busy").toBe(false);
    // Beside a toast Chromium blends the button's edges differently.
    expect(joined.fill, "the button when joined").toBe(idle.fill);
  });
});

/** Everything that begins to move from now on, and all that moves at the end. */
async function recordMotion(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const moved: string[] = [];
    const note = (what: string, target: EventTarget | null) =>
      moved.push(`${what} ${target instanceof Element ? target.outerHTML.slice(0, 60) : ""}`);
    addEventListener("transitionrun", (e) => note(e.propertyName, e.target), true);
    addEventListener("animationstart", (e) => note(e.animationName, e.target), true);
    Object.assign(window, { moved });
  });
  return () =>
    page.evaluate(() => {
      const running = document.getAnimations().map((animation) => {
        if (animation instanceof CSSTransition) return animation.transitionProperty;
        return animation instanceof CSSAnimation ? animation.animationName : animation.id;
      });
      return [...(window as unknown as { moved: string[] }).moved, ...running];
    });
}

/** Hovers, presses, scrolls, plays, is refused, waits, succeeds, swipes and closes. */
async function throughAllStates(page: Page, landing: LandingPage): Promise<void> {
  const letGo = await landing.hold("**/api/waitlist");
  await landing.open();
  for (const control of await page.locator("header, .hero").locator(landing.controls).all()) {
    await control.hover();
  }
  await page.mouse.down();
  await page.mouse.move(0, 200);
  await page.mouse.up();
  await landing.terminal.scrollIntoViewIfNeeded();
  await expect(landing.shownLines).not.toHaveCount(0);
  await landing.section("contact").scrollIntoViewIfNeeded();
  await landing.ready("waitlist-form");
  await landing.ready("toaster");
  await landing.submit.click();
  const box = await landing.toasts.boundingBox();
  if (!box) throw new Error("there is no toast");
  await page.mouse.move(box.x + 40, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 70, box.y + box.height / 2, { steps: 6 });
  await page.mouse.up();
  await expect(landing.toasts).toHaveAttribute("data-swipe", "cancel");
  await landing.join(freshAddress());
  await expect(landing.form).toHaveAttribute("aria-busy", "true");
  await landing.observersTold();
  letGo();
  await expect(landing.toasts).toContainText("Success!");
  await landing.openTooltip();
  await landing.toasts.getByRole("button").click();
  await expect(landing.toasts).toHaveCount(0);
}
