/** The keyboard reaches every control in order, in view and with a visible outline. */
import type { Settings } from "./engines.ts";
import { expect, test } from "./fixtures.ts";
import { eventually, KEYS } from "./visitor.ts";

const LINKS = ["Features", "vs ChatGPT", "Demo", "Contact"];

/** The controls in reading order. In a narrow header the links are below the button. Without a run the demo has none. */
const controlsOf = ({ width, javaScript, reducedMotion }: Settings) => [
  "Skip to content",
  "Steward",
  ...(width < 768 ? ["Get Started", ...LINKS] : [...LINKS, "Get Started"]),
  "Launch Your AI Agent",
  "Watch Demo",
  ...(javaScript && !reducedMotion ? ["Pause the demo"] : []),
  "Start Your Agent Now",
  "Email address",
  "Join the Waitlist",
  "Email us",
  "Follow the launch",
];

test(
  "Tab reaches every control in order, in view and with an outline",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ settings, visitor }) => {
    await visitor.open();
    for (const control of controlsOf(settings)) {
      await visitor.press(KEYS.tab);
      await eventually(() => visitor.focus()).toBe(control);
      // The demo's button appears when the demo has started, out of view.
      if (control === "Watch Demo" && settings.javaScript)
        await visitor.waitForIslands("demo-terminal");
      // Without scripts, WebKit scrolls a field only as far as its caret, so a part of it may stay out of view.
      const isInView = () => visitor.isInView(":focus", settings.javaScript);
      await eventually(isInView, { message: control }).toBe(true);
      // WebKit may lose the scroll of a second Tab while the page still scrolls for the first.
      await visitor.waitForScrollEnd();
      const outline = await visitor.evaluate(() => {
        const style = getComputedStyle(document.activeElement ?? document.body);
        return style.outlineStyle === "none" ? 0 : Number.parseFloat(style.outlineWidth);
      });
      expect(outline, control).toBeGreaterThanOrEqual(2);
    }
  },
);

test(
  "the skip link leads to the content",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ visitor }) => {
    await visitor.open();
    await visitor.press(KEYS.tab, KEYS.enter);
    await eventually(() => visitor.focus()).toBe("#main");
  },
);
