/** Records layout shifts. */
import type { Page } from "@playwright/test";

declare global {
  interface Window {
    layoutShifts: { value: number; moved: string[] }[];
    /** Resolves after the next frame, also while Playwright's clock replaces animation frames. */
    nextFrame: () => Promise<void>;
  }
}

interface LayoutShift extends PerformanceEntry {
  value: number;
  sources: { node: Node | null }[];
}

/**
 * Records every layout shift from the first paint on. This includes the shifts soon after a click
 * or a key, which Cumulative Layout Shift does not count.
 */
export async function recordLayoutShifts(page: Page): Promise<void> {
  await page.addInitScript(() => {
    window.layoutShifts = [];
    window.nextFrame = () =>
      new Promise((resolve) => {
        const observer = new IntersectionObserver(() => {
          observer.disconnect();
          resolve();
        });
        observer.observe(document.body);
      });
    new PerformanceObserver((entries) => {
      for (const { value, sources } of entries.getEntries() as LayoutShift[]) {
        const moved = sources.map(({ node }) =>
          node instanceof Element ? node.outerHTML.slice(0, 80) : (node?.textContent ?? ""),
        );
        window.layoutShifts.push({ value, moved });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
}

/** Returns the recorded shifts, after all pending frames are painted. */
export function layoutShifts(page: Page): Promise<Window["layoutShifts"]> {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 5; frame += 1) await window.nextFrame();
    return window.layoutShifts;
  });
}

/** Scrolls 40 px per frame until the middle of an element is in the middle of the window. */
export async function scrollSlowlyTo(page: Page, selector: string): Promise<void> {
  await page.locator(selector).evaluate(async (element) => {
    const STEP = 40;
    for (;;) {
      const before = scrollY;
      const { top, height } = element.getBoundingClientRect();
      const remaining = top + height / 2 - innerHeight / 2;
      scrollBy({ top: Math.min(STEP, remaining), behavior: "instant" });
      await window.nextFrame();
      if (remaining <= STEP || scrollY === before) return;
    }
  });
}
