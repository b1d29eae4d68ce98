/** Finds badly laid out text: cut off, overflowing, overlapping, or in lines that are too long. */
import type { Page } from "@playwright/test";

/** The text spacing that WCAG 1.4.12 allows visitors to set. */
export const TEXT_SPACING = `* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
  word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }`;

/** Sets the size of the browser's default font, in pixels. Unlike a style, it also changes what `rem` is in media queries. */
export async function setFontSize(page: Page, size: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setFontSizes", { fontSizes: { standard: size } });
}

/** Describes each text that is cut off, leaves its box or the page, or overlaps another text. */
export function findMisplacedText(page: Page): Promise<string[]> {
  return page.evaluate(misplacedText);
}

/** The same, inside the page. It uses nothing outside itself. */
export function misplacedText(): string[] {
  /** Pixels by which a box may be exceeded. */
  const TOLERANCE = 1;
  const faults = new Set<string>();
  const placed: { text: string; node: Node; rect: DOMRect }[] = [];
  const { clientWidth } = document.documentElement;
  const isPainted = (element: Element | null): boolean => {
    if (element === null) return true;
    const { clip, clipPath } = getComputedStyle(element);
    return clip === "auto" && clipPath === "none" && isPainted(element.parentElement);
  };

  /**
   * Checks one line of text against the boxes around it, up to the nearest one with a fixed or
   * absolute position.
   */
  function check(text: string, element: Element, rect: DOMRect) {
    if (rect.left < -TOLERANCE || rect.right > clientWidth + TOLERANCE) {
      faults.add(`"${text}" leaves the page`);
    }
    for (let box: Element | null = element; box; box = box.parentElement) {
      const { display, overflowX, overflowY, position } = getComputedStyle(box);
      const outer = box.getBoundingClientRect();
      const name = `${box.tagName.toLowerCase()}.${box.getAttribute("class") ?? ""}`;
      const isBox = !["inline", "contents"].includes(display) || box.tagName === "svg";
      const overflowsSideways =
        rect.left < outer.left - TOLERANCE || rect.right > outer.right + TOLERANCE;
      const overflowsVertically =
        rect.top < outer.top - TOLERANCE || rect.bottom > outer.bottom + TOLERANCE;
      if (isBox && overflowsSideways) faults.add(`"${text}" is wider than ${name}`);
      const isClipped = overflowX !== "visible" || overflowY !== "visible";
      if (isBox && isClipped && overflowsVertically) {
        faults.add(`"${text}" is cut off by ${name}`);
      }
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
    // For SVG text in a group with `display: none`, `checkVisibility` is true in Chromium.
    if (!isPainted(element) || element.getClientRects().length === 0) continue;
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width === 0) continue;
      check(text, element, rect);
      placed.push({ text, node, rect });
    }
  }

  const overlap = (first: DOMRect, second: DOMRect) => {
    const width = Math.min(first.right, second.right) - Math.max(first.left, second.left);
    const height = Math.min(first.bottom, second.bottom) - Math.max(first.top, second.top);
    // Boxes of tightly set lines overlap a little, where the accents are.
    return width > TOLERANCE && height > Math.min(first.height, second.height) / 3;
  };
  placed.forEach((first, index) => {
    for (const second of placed.slice(index + 1)) {
      if (first.node !== second.node && overlap(first.rect, second.rect)) {
        faults.add(`"${first.text}" and "${second.text}" overlap`);
      }
    }
  });

  const context = new OffscreenCanvas(1, 1).getContext("2d");
  for (const input of document.querySelectorAll<HTMLInputElement>(
    "input:not([hidden] *, [type=hidden])",
  )) {
    if (!context) throw new Error("there is no canvas");
    const { font, paddingLeft, paddingRight } = getComputedStyle(input);
    context.font = font;
    const room =
      input.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
    if (context.measureText(input.placeholder).width > room + TOLERANCE) {
      faults.add(`"${input.placeholder}" is wider than its field`);
    }
  }
  return [...faults];
}

/** Estimates the characters in the longest line of each visible match, from the widths of its lines. */
export function longestLines(
  page: Page,
  selector: string,
): Promise<{ text: string; characters: number }[]> {
  return page.locator(selector).evaluateAll((elements) => {
    const range = document.createRange();
    return elements
      .filter((element) => element.checkVisibility())
      .map((element) => {
        const text = element.textContent?.trim() ?? "";
        range.selectNodeContents(element);
        const widths = new Map<number, number>();
        for (const { bottom, width } of range.getClientRects())
          widths.set(Math.round(bottom), (widths.get(Math.round(bottom)) ?? 0) + width);
        const all = [...widths.values()];
        const sum = all.reduce((sum, width) => sum + width, 0);
        return { text, characters: Math.round((text.length * Math.max(...all)) / sum) };
      });
  });
}
