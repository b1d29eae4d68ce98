/** The page object of the landing page: its parts by role and text, and actions on them. */
import { expect, type Locator, type Page } from "@playwright/test";
import { areMounted } from "./islands.ts";

/** The sections that links lead to. */
type Anchor = "features" | "comparison" | "demo" | "contact";

/** The demo terminal's timing, in milliseconds; see §9 of the specification. React's timers need 50 in all. */
const DEMO_START_DELAY = 1050;
const DEMO_LINE_INTERVAL = 800;
const DEMO_LINES = 9;

export class LandingPage {
  readonly page: Page;
  readonly header: Locator;
  /** The part of the header that stays at the top. */
  readonly bar: Locator;
  readonly nav: Locator;
  readonly form: Locator;
  readonly email: Locator;
  readonly submit: Locator;
  readonly count: Locator;
  /** The line below the field: a promise at first, then the outcome of a sign-up. */
  readonly message: Locator;
  readonly terminal: Locator;
  readonly lines: Locator;
  readonly shownLines: Locator;
  readonly toasts: Locator;
  readonly footer: Locator;
  /** Everything that can be clicked or typed into. The footer's placeholders are not links. */
  readonly controls: Locator;

  constructor(page: Page) {
    this.page = page;
    this.header = page.getByRole("banner");
    this.bar = page.locator(".nav-bar");
    this.nav = page.getByRole("navigation", { name: "Main" });
    this.form = page.locator("form");
    this.email = page.getByLabel("Email address");
    this.submit = this.form.getByRole("button");
    this.count = page.getByText(/^\d+ entrepreneurs already on the list$/);
    this.message = this.form.locator(".waitlist-message");
    this.terminal = page.getByRole("list", { name: "A launch, line by line" });
    this.lines = this.terminal.getByRole("listitem");
    this.shownLines = this.terminal.locator("[data-state=shown]");
    this.toasts = page.locator(".toast");
    this.footer = page.getByRole("contentinfo");
    this.controls = page.locator("a[href]:visible, button:visible, input:visible");
  }

  section(anchor: Anchor): Locator {
    return this.page.locator(`section#${anchor}`);
  }

  async open(url = "/"): Promise<void> {
    await this.page.goto(url);
  }

  /** Opens the page at the form, and waits until the form and the toaster are hydrated. */
  async openForm(url = "/"): Promise<void> {
    await this.open(url);
    await this.scrollToForm();
  }

  /** Scrolls to the form, and waits until the form and the toaster are hydrated. */
  async scrollToForm(): Promise<void> {
    await this.section("contact").scrollIntoViewIfNeeded();
    await this.waitForIslands("waitlist-form", "toaster");
  }

  /** Opens the page, waits until the contact section's islands are hydrated, and scrolls up. */
  async openHydrated(): Promise<void> {
    await this.openForm();
    await this.waitForIslands("contact-links");
    await this.scrollToTop();
  }

  /** Opens the form, submits it empty, and keeps the error toast open. */
  async openFormWithError(): Promise<void> {
    await this.openForm();
    await this.submit.click();
    await this.keepToastOpen();
    await this.finishAnimations();
  }

  /** Scrolls past every island, so that each of them is loaded. */
  async scrollThroughIslands(): Promise<void> {
    await this.section("demo").scrollIntoViewIfNeeded();
    await this.section("contact").scrollIntoViewIfNeeded();
  }

  async scrollToTop(): Promise<void> {
    await this.page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
  }

  /** Waits until React has mounted these islands, or all if none is named. */
  async waitForIslands(...islands: string[]): Promise<void> {
    await this.page.waitForFunction(areMounted, islands);
  }

  /** Waits for the next idle moment, in which the page loads what it has put off. */
  async waitForIdle(): Promise<void> {
    await this.page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
  }

  async signUp(email: string): Promise<void> {
    await this.email.fill(email);
    await this.submit.click();
  }

  /** Holds requests to a URL back until the returned function is called. */
  async holdRequests(url: string): Promise<() => void> {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await this.page.route(url, async (route) => {
      await released;
      await route.continue();
    });
    return release;
  }

  /** Plays the terminal to its end. The test must have installed Playwright's clock. */
  async playTerminal(): Promise<void> {
    await this.section("demo").scrollIntoViewIfNeeded();
    await this.waitForIslands("demo-terminal");
    await this.terminal.evaluate((list) => list.scrollIntoView({ block: "center" }));
    await this.waitForIntersectionObservers();
    await this.revealLines(DEMO_LINES);
    await this.finishAnimations();
  }

  /** Plays the terminal from its start up to a line. React sets the timer of each line when it has rendered the last one. */
  async revealLines(count: number): Promise<void> {
    for (let line = 1; line <= count; line += 1) {
      await this.page.clock.runFor(line === 1 ? DEMO_START_DELAY : DEMO_LINE_INTERVAL);
      // More if the clock is not stopped.
      await expect.poll(() => this.shownLines.count()).toBeGreaterThanOrEqual(line);
    }
  }

  /** Finishes all animations, and pauses those that never end. */
  async finishAnimations(): Promise<void> {
    await this.page.evaluate(() => {
      for (const animation of document.getAnimations()) {
        const isEndless =
          animation.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY;
        if (isEndless) animation.pause();
        else animation.finish();
      }
    });
  }

  /** Stops the timer of an open toast. Radix pauses it while the window is not focused. */
  async keepToastOpen(): Promise<void> {
    await expect(this.toasts).toHaveCount(1);
    await this.page.evaluate(() => dispatchEvent(new Event("blur")));
  }

  /** Waits until an element is wholly in view, and the toast does not cover it. */
  async expectClearOfToast(element: Locator): Promise<void> {
    await expect(async () => {
      const [box, toast] = [await boundingBox(element), await boundingBox(this.toasts)];
      const isBeside = box.x + box.width <= toast.x || toast.x + toast.width <= box.x;
      const isAboveOrBelow = box.y + box.height <= toast.y || toast.y + toast.height <= box.y;
      expect(isBeside || isAboveOrBelow, `${JSON.stringify({ box, toast })}`).toBe(true);
    }).toPass({ timeout: 5_000 });
    await expect(element).toBeInViewport({ ratio: 1 });
  }

  /** Waits until an element is wholly in view, and nothing covers its first line. */
  async expectUncovered(element: Locator): Promise<void> {
    await expect(element).toBeInViewport({ ratio: 1 });
    const isOnTop = () =>
      element.evaluate((node) => {
        const { left, top, bottom } = node.getBoundingClientRect();
        return [top + 1, bottom - 1].every((y) => document.elementFromPoint(left + 1, y) === node);
      });
    await expect.poll(isOnTop).toBe(true);
  }

  /** Opens the tooltip of the e-mail link. It scrolls first, because scrolling closes a tooltip. */
  async openTooltip(): Promise<void> {
    const link = this.page.getByRole("link", { name: "Email us" });
    await this.waitForIslands("contact-links");
    await this.submit.focus();
    await link.evaluate((node) => node.scrollIntoView({ block: "center", behavior: "instant" }));
    await this.waitForIntersectionObservers();
    await link.focus();
    await expect(this.page.getByRole("tooltip")).toHaveCount(1);
  }

  /** Waits until every IntersectionObserver has been notified of the current scroll position. */
  async waitForIntersectionObservers(): Promise<void> {
    await this.page.evaluate(async () => {
      for (let frame = 0; frame < 2; frame += 1) {
        await new Promise<void>((resolve) => {
          const observer = new IntersectionObserver(() => {
            observer.disconnect();
            resolve();
          });
          observer.observe(document.body);
        });
      }
    });
  }

  /** Returns how many pixels the page is wider than the window. */
  horizontalOverflow(): Promise<number> {
    return this.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
  }
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Returns the bounding box of an element, which must be visible. */
export async function boundingBox(element: Locator): Promise<Box> {
  const box = await element.boundingBox();
  if (!box) throw new Error(`${element} is not visible`);
  return box;
}

/** Returns how many pixels of an element's content are cut off on the right. */
export function hiddenWidth(element: Locator): Promise<number> {
  return element.evaluate((node) => node.scrollWidth - node.clientWidth);
}
