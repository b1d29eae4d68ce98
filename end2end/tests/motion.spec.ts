/** Animations are cheap and can be turned off, and every state of a control is visible. */
import type { Locator, Page } from "@playwright/test";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox, type LandingPage } from "../support/landing-page.ts";

test(
  "every transition and keyframe changes only transform and opacity",
  { tag: "@once" },
  async ({ request }) => {
    const css = await (await request.get("/")).text();
    const valuesOf = (property: RegExp, text: string) =>
      [...text.matchAll(property)].map(([, value = ""]) => value);
    const transitions = valuesOf(/[{;]\s*transition(?:-property)?:([^;}]+)/g, css)
      .flatMap((value) => value.replaceAll(/\([^()]*\)/g, "").split(","))
      .map((part) => part.trim().split(" ")[0] ?? "");
    const keyframes = valuesOf(/@keyframes [\w-]+\s*\{((?:[^{}]+\{[^{}]*\})+)/g, css).flatMap(
      (steps) => valuesOf(/[{;]\s*([\w-]+):/g, steps),
    );
    expect(transitions.length).toBeGreaterThan(3);
    expect(keyframes.length).toBeGreaterThan(1);
    // `--link-scroll` only keeps a value for a second. Nothing that is drawn depends on it.
    const neutral = ["none", "--link-scroll"];
    const properties = new Set([...transitions, ...keyframes]);
    expect([...properties].filter((name) => !neutral.includes(name)).sort()).toEqual([
      "opacity",
      "transform",
    ]);
  },
);

test(
  "with reduced motion nothing is animated in any state",
  { tag: "@once" },
  async ({ landing, page }) => {
    const animations = await recordAnimations(page);
    await visitAllStates(page, landing);
    expect((await animations()).length, "with motion").toBeGreaterThan(2);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await visitAllStates(page, landing);
    expect(await animations()).toEqual([]);
  },
);

/**
 * Returns how many positions the page shows between the start and the end of a scroll far down, which `act` starts.
 * Reads them from outside, because a page without JavaScript cannot record them.
 */
async function countPositions(page: Page, act?: () => Promise<unknown>): Promise<number> {
  const positions = new Set<number>();
  const acted = act?.();
  for (let previous = -1, same = 0; same < 20;) {
    const position = await page.evaluate(() => scrollY);
    positions.add(position);
    same = position === previous && position > 1000 ? same + 1 : 0;
    previous = position;
  }
  await acted;
  const end = Math.max(...positions);
  return [...positions].filter((position) => position > 0.05 * end && position < 0.9 * end).length;
}

test.describe("smooth scrolling", () => {
  const ACTIONS: Record<string, (link: Locator) => Promise<void>> = {
    "a click": (link) => link.click(),
    Enter: (link) => link.press("Enter"),
  };
  for (const [action, act] of Object.entries(ACTIONS)) {
    const contactLink = (landing: LandingPage) =>
      landing.nav.getByRole("link", { name: "Contact" });

    test(
      `§2 ${action} scrolls smoothly, but not with reduced motion, with and without JavaScript`,
      { tag: "@everywhere" },
      async ({ landing, page }) => {
        await landing.open();
        await expect
          .poll(async () => {
            await page.goto("/?again");
            return countPositions(page, () => act(contactLink(landing)));
          })
          .toBeGreaterThan(2);
        await page.emulateMedia({ reducedMotion: "reduce" });
        await page.goto("/?again");
        expect(await countPositions(page, () => act(contactLink(landing)))).toBe(0);
      },
    );

    test(
      `§2 ${action} scrolls smoothly while the page loads`,
      { tag: "@once" },
      async ({ landing, page }) => {
        await landing.holdRequests("**/fonts/*");
        // Again on a busy machine, which may not draw a position in between.
        await expect(async () => {
          const requested = page.waitForRequest("**/fonts/*");
          await page.goto("/", { waitUntil: "commit" });
          await requested;
          await expect(landing.footer).toBeAttached();
          expect(await countPositions(page, () => act(contactLink(landing)))).toBeGreaterThan(2);
          expect(await page.evaluate(() => document.readyState)).not.toBe("complete");
        }).toPass();
      },
    );
  }

  test(
    "§2 a page that opens at a section jumps to it, with and without JavaScript",
    { tag: "@everywhere" },
    async ({ page }) => {
      await page.goto("/#contact", { waitUntil: "commit" });
      expect(await countPositions(page)).toBe(0);
    },
  );
});

test.describe("states", { tag: "@once" }, () => {
  /** Returns a screenshot of a control, after its animations have ended. */
  async function screenshot(control: Locator): Promise<string> {
    return (await control.screenshot({ animations: "disabled", caret: "hide" })).toString("base64");
  }

  /** Checks that a hovered control looks different and a pressed one moves. */
  async function expectStates(page: Page, control: Locator): Promise<void> {
    await control.scrollIntoViewIfNeeded();
    await page.mouse.move(0, 0);
    const idle = await screenshot(control);
    expect(await screenshot(control), "a second screenshot").toBe(idle);
    await expect(control).not.toHaveCSS("transform", /matrix/);
    await control.hover();
    expect((await screenshot(control)) === idle, "looks idle while hovered").toBe(false);
    await page.mouse.down();
    await expect(control).toHaveCSS("transform", /matrix/);
    await page.mouse.up();
  }

  test("buttons and links respond to the pointer", async ({ landing, page }) => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    await landing.openForm();
    // A click scrolls down the page, so the controls are tested from top to bottom.
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
      const idle = await screenshot(link);
      await link.hover();
      expect((await screenshot(link)) === idle, "looks idle while hovered").toBe(false);
    }
  });
});

/**
 * Records transitions and animations. The returned function returns those that have started,
 * followed by those that are running.
 */
async function recordAnimations(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const started: string[] = [];
    const record = (name: string, target: EventTarget | null) =>
      started.push(`${name} ${target instanceof Element ? target.outerHTML.slice(0, 60) : ""}`);
    addEventListener("transitionrun", (e) => record(e.propertyName, e.target), true);
    addEventListener("animationstart", (e) => record(e.animationName, e.target), true);
    Object.assign(window, { startedAnimations: started });
  });
  return () =>
    page.evaluate(() => {
      const { startedAnimations } = window as unknown as { startedAnimations: string[] };
      const running = document.getAnimations().map((animation) => {
        if (animation instanceof CSSTransition) return animation.transitionProperty;
        return animation instanceof CSSAnimation ? animation.animationName : animation.id;
      });
      return [...startedAnimations, ...running];
    });
}

/** Visits every animated state: hover, press, terminal, error, swipe, busy, success, tooltip. */
async function visitAllStates(page: Page, landing: LandingPage): Promise<void> {
  const release = await landing.holdRequests("**/api/waitlist");
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
  await landing.waitForIslands("waitlist-form", "toaster");
  await landing.submit.click();
  const toast = await boundingBox(landing.toasts);
  await page.mouse.move(toast.x + 40, toast.y + toast.height / 2);
  await page.mouse.down();
  await page.mouse.move(toast.x + 70, toast.y + toast.height / 2, { steps: 6 });
  await page.mouse.up();
  await expect(landing.toasts).toHaveAttribute("data-swipe", "cancel");
  await landing.signUp(uniqueEmail());
  await expect(landing.submit).toHaveAttribute("aria-busy", "true");
  await landing.waitForIntersectionObservers();
  release();
  await expect(landing.toasts).toContainText("Success!");
  await landing.openTooltip();
  await landing.toasts.getByRole("button").click();
  await expect(landing.toasts).toHaveCount(0);
}
