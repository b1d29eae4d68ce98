/** Protection from bots, and from scripts injected into the page. */
import type { Page } from "@playwright/test";
import { expect, test } from "../support/fixtures.ts";

/** The hidden field that only bots fill in. */
const honeypot = (page: Page) => page.locator("input[name=topic]");

test(
  "the honeypot is hidden from sight, keyboard and screen readers",
  { tag: "@everywhere" },
  async ({ landing, page }) => {
    await landing.open();
    await expect(honeypot(page)).toHaveCount(1);
    await expect(honeypot(page)).toBeHidden();
    await expect(landing.form.getByRole("textbox")).toHaveCount(1);
    expect(await landing.form.ariaSnapshot()).not.toContain("Leave this empty");
    await landing.email.focus();
    await page.keyboard.press("Tab");
    await expect(landing.submit).toBeFocused();
  },
);

test.describe("an injected script", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Content Security Policy|Trusted|violates|refused/i });

  test("cannot run code or send data to another site", async ({ landing, page }) => {
    await landing.openForm();
    const results = await page.evaluate(async () => {
      const outcome = (attempt: () => unknown) => {
        try {
          return String(attempt());
        } catch (error) {
          return (error as Error).name;
        }
      };
      const script = document.createElement("script");
      script.append("window.ran = true");
      document.body.append(script);
      return {
        inline: "ran" in window,
        markup: outcome(() => (document.body.lastElementChild!.innerHTML = "<b>x</b>")),
        // In a timer, because the policy does not apply to code that Playwright evaluates.
        evaluated: await new Promise<string>((resolve) => {
          setTimeout(() => resolve(outcome(() => new Function("return 1")())));
        }),
        otherSite: await fetch("https://evil.test/").then(String, (error: Error) => error.name),
        base: outcome(() => {
          const base = Object.assign(document.createElement("base"), {
            href: "https://evil.test/",
          });
          document.head.prepend(base);
          return document.baseURI.startsWith("https://evil.test/");
        }),
      };
    });
    expect(results).toEqual({
      inline: false,
      markup: "TypeError",
      evaluated: "EvalError",
      otherSite: "TypeError",
      base: "false",
    });
  });
});
