/** What a visitor does and sees, in any engine. Only this file talks to WebDriver. */
import { writeFile } from "node:fs/promises";
import { expect } from "@playwright/test";
import { By, error, Key, Origin, type WebDriver, type WebElement } from "selenium-webdriver";
import { areMounted } from "../support/islands.ts";

/** Reads something again and again until an expectation holds, within ten seconds by default. */
export function eventually<T>(
  read: () => Promise<T>,
  options: { message?: string; timeout?: number } = {},
) {
  const readOrError = () =>
    read().catch((failure: unknown) => {
      // The page was just replaced by the next one.
      if (failure instanceof error.WebDriverError) return failure.message;
      throw failure;
    });
  return expect.poll(readOrError, { ...options, intervals: [50, 50, 100, 200] });
}

/** Keys that type nothing. */
export const KEYS = { enter: Key.ENTER, f8: Key.F8, tab: Key.TAB };

/** The name that a visitor reads, as WebDriver's XPath needs it. */
const withText = (tag: string, text: string) =>
  By.xpath(`//${tag}[normalize-space(.) = ${JSON.stringify(text)}]`);

const EMAIL = By.css("input[name=email]");
const TOAST = By.css(".toast");

export class Visitor {
  readonly driver: WebDriver;
  readonly #origin: string;

  constructor(driver: WebDriver, origin: string) {
    this.driver = driver;
    this.#origin = origin;
  }

  /** Opens a path of the site. */
  async open(path = "/"): Promise<void> {
    await this.driver.get(this.#origin + path);
  }

  /** Opens the page at the form, and waits until the form and the toaster respond. */
  async openForm(): Promise<void> {
    await this.open();
    await this.scrollTo("#contact");
    await this.waitForIslands("waitlist-form", "toaster");
  }

  /** Waits until React has mounted these islands, or all if none is named. */
  async waitForIslands(...islands: string[]): Promise<void> {
    const isMounted = () => this.evaluate(areMounted, islands);
    await eventually(isMounted, { message: `islands ${islands.join(", ")}` }).toBe(true);
  }

  /** Opens another page and goes back. Firefox and WebKit then continue the page as it was. */
  async leaveAndReturn(): Promise<void> {
    await this.evaluate(() => location.assign("/robots.txt"));
    await eventually(() => this.path()).toBe("/robots.txt");
    await this.driver.navigate().back();
    await eventually(() => this.path()).toBe("/");
    await this.waitForIslands("waitlist-form", "toaster");
  }

  /** Clicks a link. */
  async follow(link: string): Promise<void> {
    await this.click(withText("a", link));
  }

  /** Clicks a button. */
  async push(button: string): Promise<void> {
    await this.click(withText("button", button));
  }

  async typeEmail(email: string): Promise<void> {
    const field = await this.#reach(EMAIL);
    await field.clear();
    // WebKit rejects an empty text.
    if (email !== "") await field.sendKeys(email);
  }

  /** Types an address and sends the form. */
  async signUp(email: string): Promise<void> {
    await this.typeEmail(email);
    await this.submit();
  }

  /** Sends the form from the field. The pointer stays away from the toast, which it would keep open. */
  async submit(): Promise<void> {
    await (await this.#reach(EMAIL)).sendKeys(KEYS.enter);
  }

  async typeCode(code: string): Promise<void> {
    const field = await this.#reach(By.css("input[name=code]"));
    await field.clear();
    await field.sendKeys(code, KEYS.enter);
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.driver.actions().sendKeys(key).perform();
  }

  /** Moves the mouse to the middle of a link. */
  async pointAt(link: string): Promise<void> {
    const origin = await this.#findVisible(withText("a", link));
    await this.driver.actions().move({ origin, duration: 50 }).perform();
  }

  /** Drags the toast to the right by this number of pixels. */
  async swipeToast(distance: number): Promise<void> {
    const origin = await this.driver.findElement(TOAST);
    await this.driver
      .actions()
      .move({ origin, x: -60, duration: 0 })
      .press()
      .move({ origin: Origin.POINTER, x: distance / 2, duration: 50 })
      .move({ origin: Origin.POINTER, x: distance / 2, duration: 50 })
      .release()
      .perform();
  }

  title(): Promise<string> {
    return this.driver.getTitle();
  }

  /** The address of the page, without the origin. */
  async path(): Promise<string> {
    return (await this.driver.getCurrentUrl()).replace(this.#origin, "");
  }

  /** The texts of all matches, as the visitor sees them. */
  async texts(selector: string): Promise<string[]> {
    const texts = await this.evaluate<[string], string[] | null>(
      (selector) =>
        [...document.querySelectorAll<HTMLElement>(selector)].map((element) =>
          element.innerText.replaceAll(/\s+/g, " ").trim(),
        ),
      selector,
    );
    // Firefox returns null while the next page replaces this one.
    return texts ?? [];
  }

  /** The text of the only match. */
  async text(selector: string): Promise<string> {
    const [text = "", ...others] = await this.texts(selector);
    expect(others, `more than one ${selector}`).toEqual([]);
    return text;
  }

  /** An attribute of each match. */
  attributes(selector: string, name: string): Promise<(string | null)[]> {
    return this.evaluate(
      (selector, name) =>
        [...document.querySelectorAll(selector)].map((element) => element.getAttribute(name)),
      selector,
      name,
    );
  }

  /** The line below the field: a promise at first, then the outcome of a sign-up. */
  message(): Promise<string> {
    return this.text(".waitlist-message");
  }

  count(): Promise<string> {
    return this.text(".waitlist-count");
  }

  /** The toasts that are visible: none or one. */
  toasts() {
    return this.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>(".toast")].map((toast) => ({
        text: toast.innerText.replaceAll(/\s+/g, " ").trim(),
        variant: toast.getAttribute("data-variant"),
      })),
    );
  }

  /** The form: the address in it, whether its controls can be used, and the text of the button. */
  form() {
    return this.evaluate(() => {
      const field = document.querySelector<HTMLInputElement>("form.waitlist input[name=email]");
      const button = document.querySelector<HTMLButtonElement>("form.waitlist button");
      if (!field || !button) throw new Error("the page has no form");
      return {
        email: field.value,
        isEnabled: !field.disabled && !button.disabled,
        button: button.innerText.trim(),
      };
    });
  }

  /** The id of the focused element, or else its role and its name. */
  focus(): Promise<string> {
    return this.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return "nothing";
      const label = element instanceof HTMLInputElement ? element.labels?.[0] : element;
      const name = element.getAttribute("aria-label") ?? label?.textContent?.trim() ?? "";
      return element.matches("section, main") ? `#${element.id}` : name;
    });
  }

  /** Scrolls an element into the middle of the window, without an animation. */
  async scrollTo(selector: string): Promise<void> {
    await this.evaluate((selector) => {
      document.querySelector(selector)?.scrollIntoView({ block: "center", behavior: "instant" });
    }, selector);
  }

  /** Waits until the page has stopped scrolling. */
  async waitForScrollEnd(): Promise<void> {
    let before = Number.NaN;
    const hasStopped = async () => {
      const now = await this.evaluate(() => scrollY);
      const isSame = now === before;
      before = now;
      return isSame;
    };
    await eventually(hasStopped).toBe(true);
  }

  /** The upper and the lower edge of an element in the window, in whole pixels. */
  edges(selector: string): Promise<{ top: number; bottom: number }> {
    return this.evaluate((selector) => {
      const box = document.querySelector(selector)?.getBoundingClientRect();
      if (!box) throw new Error(`the page has no ${selector}`);
      return { top: Math.round(box.top), bottom: Math.round(box.bottom) };
    }, selector);
  }

  /** Whether each visible match is inside the window: its middle, or all of it. */
  isInView(selector: string, isWhole = false): Promise<boolean> {
    return this.evaluate(
      (selector, isWhole) => {
        const all = [...document.querySelectorAll(selector)];
        const visible = all.filter((it) => it.checkVisibility());
        const isInside = (element: Element) => {
          const { left, right, top, bottom } = element.getBoundingClientRect();
          const [x, y] = [(left + right) / 2, (top + bottom) / 2];
          if (isWhole) return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
          return x > 0 && y > 0 && x < innerWidth && y < innerHeight;
        };
        return visible.length > 0 && visible.every(isInside);
      },
      selector,
      isWhole,
    );
  }

  /** Runs a function in the page. */
  evaluate<Args extends unknown[], Result>(
    script: (...args: Args) => Result,
    ...args: Args
  ): Promise<Result> {
    return this.driver.executeScript<Result>(script, ...args);
  }

  /** Writes the window into a PNG file. */
  async savePicture(path: string): Promise<void> {
    await writeFile(path, await this.driver.takeScreenshot(), "base64");
  }

  /** Clicks the visible match. */
  async click(locator: By): Promise<void> {
    await (await this.#reach(locator)).click();
  }

  /** Finds the visible match, and scrolls to it if it is out of view. */
  async #reach(locator: By): Promise<WebElement> {
    const element = await this.#findVisible(locator);
    // WebDriver would scroll smoothly, like the page, and act before the element has arrived.
    await this.driver.executeScript((element: Element) => {
      const { top, bottom } = element.getBoundingClientRect();
      if (top < 0 || bottom > innerHeight) {
        element.scrollIntoView({ block: "center", behavior: "instant" });
      }
    }, element);
    return element;
  }

  /** Finds the first visible match. The header has two "Get Started", one of them hidden. */
  async #findVisible(locator: By): Promise<WebElement> {
    for (const element of await this.driver.findElements(locator)) {
      if (await element.isDisplayed()) return element;
    }
    throw new Error(`cannot find a visible element: ${locator}`);
  }
}
