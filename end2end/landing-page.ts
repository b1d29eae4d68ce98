/** The landing page as a visitor finds it: by what is read, not by how it is built. */
import { expect, type Locator, type Page } from "@playwright/test";

export const ANCHORS = ["features", "comparison", "demo", "contact"] as const;
export type Anchor = (typeof ANCHORS)[number];

export class LandingPage {
  readonly bar: Locator;
  readonly nav: Locator;
  readonly email: Locator;
  readonly submit: Locator;
  readonly form: Locator;
  readonly count: Locator;
  /** The line below the field: the promise, or what became of a sign-up. */
  readonly message: Locator;
  readonly terminal: Locator;
  readonly lines: Locator;
  readonly shownLines: Locator;
  readonly toasts: Locator;
  readonly toastRegion: Locator;
  readonly footer: Locator;
  /** All that can be clicked or typed in; a link that leads nowhere is none. */
  readonly controls: Locator;

  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
    this.bar = page.getByRole("banner");
    this.nav = page.getByRole("navigation", { name: "Main" });
    this.email = page.getByLabel("Email address");
    this.form = page.locator("form");
    this.submit = this.form.getByRole("button");
    this.count = page.getByText(/^\d+ entrepreneurs already on the list$/);
    this.message = this.form.locator(".waitlist-message");
    this.terminal = page.getByRole("list", { name: "A launch, line by line" });
    this.lines = this.terminal.getByRole("listitem");
    this.shownLines = this.terminal.locator("[data-state=shown]");
    this.toasts = page.locator(".toast");
    this.toastRegion = page.getByRole("region", { name: "Notifications (F8)" });
    this.footer = page.getByRole("contentinfo");
    this.controls = page.locator("a[href]:visible, button:visible, input:visible");
  }

  async open(): Promise<void> {
    await this.page.goto("/");
  }

  section(anchor: Anchor): Locator {
    return this.page.locator(`section#${anchor}`);
  }

  /** Opens the page and waits until the form is React's. */
  async openForm(): Promise<void> {
    await this.open();
    await this.section("contact").scrollIntoViewIfNeeded();
    await this.ready("waitlist-form");
    await this.ready("toaster");
  }

  /** Opens the page, waits until the form and what adds to it are React's, and goes back to the top. */
  async openAlive(): Promise<void> {
    await this.openForm();
    await this.ready("contact-links");
    await this.page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
  }

  /** Waits until an island is React's. */
  async ready(island: string): Promise<void> {
    const element = this.page.locator(`[data-island=${island}]`);
    await expect
      .poll(() =>
        element.evaluate(
          (node) =>
            Object.keys(node).some((key) => key.startsWith("__reactContainer")) &&
            (node.childElementCount === 0 ||
              Object.keys(node.children[0] ?? {}).some((key) => key.startsWith("__react"))),
        ),
      )
      .toBe(true);
  }

  async join(email: string): Promise<void> {
    await this.email.fill(email);
    await this.submit.click();
  }

  /** Lets a call wait until the test lets it go. */
  async hold(url: string): Promise<() => void> {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await this.page.route(url, async (route) => {
      await held;
      await route.continue();
    });
    return letGo;
  }

  /** Plays the terminal to its end, on a clock that the test has installed. */
  async playTerminal(): Promise<void> {
    await this.section("demo").scrollIntoViewIfNeeded();
    await this.ready("demo-terminal");
    await this.terminal.evaluate((list) => list.scrollIntoView({ block: "center" }));
    await this.observersTold();
    await this.page.clock.runFor(1000 + 9 * 800);
    await expect(this.shownLines).toHaveCount(9);
    await this.stopMoving();
  }

  /** Lets everything that moves come to its end, or stops it where it has none. */
  async stopMoving(): Promise<void> {
    await this.page.evaluate(() => {
      for (const animation of document.getAnimations()) {
        const endless = animation.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY;
        if (endless) animation.pause();
        else animation.finish();
      }
    });
  }

  /** Keeps an open toast until it is closed: Radix waits while the window is not the visitor's. */
  async keepToast(): Promise<void> {
    await expect(this.toasts).toHaveCount(1);
    await this.page.evaluate(() => dispatchEvent(new Event("blur")));
  }

  /** Opens the form with the toast of an empty submit, both at rest. */
  async openRefusal(): Promise<void> {
    await this.openForm();
    await this.submit.click();
    await this.keepToast();
    await this.stopMoving();
  }

  /** Opens the tooltip of the link to write to us; scrolling would close it again. */
  async openTooltip(): Promise<void> {
    const link = this.page.getByRole("link", { name: "Email us" });
    await this.ready("contact-links");
    await this.submit.focus();
    await link.evaluate((node) => node.scrollIntoView({ block: "center", behavior: "instant" }));
    await this.observersTold();
    await link.focus();
    await expect(this.page.getByRole("tooltip")).toHaveCount(1);
  }

  /** Waits until the browser has told every observer what is in view. */
  async observersTold(): Promise<void> {
    for (let frame = 0; frame < 2; frame += 1) {
      await this.page.evaluate(
        () =>
          new Promise<void>((resolve) => {
            const observer = new IntersectionObserver(() => {
              observer.disconnect();
              resolve();
            });
            observer.observe(document.body);
          }),
      );
    }
  }

  /** Where a section's top lies below the bar, in pixels; about 0 after a jump to it. */
  async distanceBelowBar(anchor: Anchor): Promise<number> {
    const bar = await this.bar.boundingBox();
    const section = await this.section(anchor).boundingBox();
    if (!bar || !section) throw new Error("the bar or the section is not there");
    return section.y - (bar.y + bar.height);
  }

  /** Pixels by which the page is wider than the window. */
  overflow(): Promise<number> {
    return this.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
  }
}
