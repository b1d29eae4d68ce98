/** What a page measures in the browser: texts in their boxes, the length of lines, shifts. */
import type { Page } from "@playwright/test";

/** Each text that is cut off, sticks out of its box or of the page, or lies over another. */
export function misplacedTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const TOLERANCE = 1;
    const found = new Set<string>();
    const placed: { text: string; node: Node; rect: DOMRect }[] = [];
    const { clientWidth } = document.documentElement;
    const isForTheEye = (element: Element | null): boolean => {
      if (element === null) return true;
      const { clip, clipPath } = getComputedStyle(element);
      return clip === "auto" && clipPath === "none" && isForTheEye(element.parentElement);
    };

    /** From the text outwards, as far as boxes are expected to hold it. */
    function check(text: string, element: Element, rect: DOMRect) {
      if (rect.left < -TOLERANCE || rect.right > clientWidth + TOLERANCE) {
        found.add(`"${text}" leaves the page`);
      }
      for (let box: Element | null = element; box; box = box.parentElement) {
        const { display, overflowX, overflowY, position } = getComputedStyle(box);
        const outer = box.getBoundingClientRect();
        const name = `${box.tagName.toLowerCase()}.${box.getAttribute("class") ?? ""}`;
        const isBox = !["inline", "contents"].includes(display) || box.tagName === "svg";
        const isWider = rect.left < outer.left - TOLERANCE || rect.right > outer.right + TOLERANCE;
        const isHigher = rect.top < outer.top - TOLERANCE || rect.bottom > outer.bottom + TOLERANCE;
        if (isBox && isWider) found.add(`"${text}" is wider than ${name}`);
        const isCut = overflowX !== "visible" || overflowY !== "visible";
        if (isBox && isCut && isHigher) found.add(`"${text}" is cut off by ${name}`);
        if (position === "fixed" || position === "absolute") break;
      }
    }

    const range = document.createRange();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const node = texts.currentNode;
      const element = node.parentElement;
      const text = node.nodeValue?.trim();
      if (!text || !element?.checkVisibility({ visibilityProperty: true })) continue;
      // Chromium calls an SVG text visible also where its group is not displayed.
      if (!isForTheEye(element) || element.getClientRects().length === 0) continue;
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        if (rect.width === 0) continue;
        check(text, element, rect);
        placed.push({ text, node, rect });
      }
    }

    const isOver = (one: DOMRect, other: DOMRect) => {
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      // Lines set tight share the room for their accents.
      return width > TOLERANCE && height > Math.min(one.height, other.height) / 3;
    };
    placed.forEach((one, index) => {
      for (const other of placed.slice(index + 1)) {
        if (one.node !== other.node && isOver(one.rect, other.rect)) {
          found.add(`"${one.text}" and "${other.text}" lie over each other`);
        }
      }
    });

    const context = new OffscreenCanvas(1, 1).getContext("2d");
    for (const input of document.querySelectorAll<HTMLInputElement>("input:not([hidden] *)")) {
      if (!context) throw new Error("there is no canvas");
      const { font, paddingLeft, paddingRight } = getComputedStyle(input);
      context.font = font;
      const room =
        input.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
      if (context.measureText(input.placeholder).width > room + TOLERANCE) {
        found.add(`"${input.placeholder}" is wider than its field`);
      }
    }
    return [...found];
  });
}

/** The number of characters in the longest line of each text. */
export function longestLines(
  page: Page,
  selector: string,
): Promise<{ text: string; characters: number }[]> {
  return page.locator(selector).evaluateAll((elements) => {
    const range = document.createRange();
    return elements
      .filter((element) => element.checkVisibility())
      .map((element) => {
        let characters = 0;
        let longest = 0;
        let before = Number.NEGATIVE_INFINITY;
        const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const node = texts.currentNode;
          for (let index = 0; index < (node.nodeValue ?? "").length; index += 1) {
            range.setStart(node, index);
            range.setEnd(node, index + 1);
            const [rect] = range.getClientRects();
            if (!rect || rect.width === 0) continue;
            // A line begins where the next character is further left.
            characters = rect.left < before ? 1 : characters + 1;
            longest = Math.max(longest, characters);
            before = rect.left;
          }
        }
        return { text: element.textContent?.trim() ?? "", characters: longest };
      });
  });
}

declare global {
  interface Window {
    shifts?: { value: number; moved: string[] }[];
  }
}

interface LayoutShift extends PerformanceEntry {
  value: number;
  sources: { node: Node | null }[];
}

/** Notes every layout shift from the first paint on, also those that the browser would excuse
 * because the visitor has just done something. */
export async function watchShifts(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const shifts: NonNullable<Window["shifts"]> = [];
    window.shifts = shifts;
    new PerformanceObserver((entries) => {
      for (const { value, sources } of entries.getEntries() as LayoutShift[]) {
        const moved = sources.map(({ node }) =>
          node instanceof Element ? node.outerHTML.slice(0, 80) : (node?.textContent ?? ""),
        );
        shifts.push({ value, moved });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
}

/** The shifts since the page was opened, after everything that is due has been painted. */
export function shifts(page: Page): Promise<Window["shifts"]> {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
    return window.shifts;
  });
}
