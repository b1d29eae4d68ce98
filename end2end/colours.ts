/** Contrast as it is painted: colours, opacities and backgrounds from an element outwards. */
import type { Page } from "@playwright/test";

/** Red, green and blue from 0 to 255, alpha from 0 to 1. */
export type Colour = readonly [red: number, green: number, blue: number, alpha: number];

export interface Query {
  /** Elements of which the colour is asked. Without it: all that have text of their own. */
  selector?: string;
  /** The property that holds the colour. Without it: that of text, also in drawings. */
  property?: string;
  pseudo?: string;
  /** Whether it lies on the element's own background, or on what is behind the element. */
  on?: "element" | "surroundings";
}

interface Painted {
  what: string;
  ink: Colour;
  /** From the innermost outwards. */
  layers: { background: Colour; opacity: number }[];
}

export interface Contrast {
  what: string;
  ratio: number;
}

const WHITE: Colour = [255, 255, 255, 1];

/** The contrast of everything that is asked for and shown, with what lies behind it. */
export async function contrasts(page: Page, query: Query = {}): Promise<Contrast[]> {
  return (await paints(page, query)).map(({ what, ink, layers }) => ({
    what,
    ratio: contrast(flatten(ink, layers), flatten([0, 0, 0, 0], layers)),
  }));
}

/** The contrast of the colours alone, with white. */
export async function contrastsWithWhite(page: Page, query: Query = {}): Promise<Contrast[]> {
  return (await paints(page, query)).map(({ what, ink }) => ({
    what,
    ratio: contrast(over(ink, WHITE), WHITE),
  }));
}

/** Those below a ratio, as one reads them in a failure. */
export function below(least: number, found: Contrast[]): string[] {
  return found
    .filter(({ ratio }) => ratio < least)
    .map(({ what, ratio }) => `${what} has ${ratio.toFixed(2)}, less than ${least}`);
}

/** Converted by painting: a computed colour may come in any notation. */
function paints(page: Page, query: Query): Promise<Painted[]> {
  return page.evaluate(({ selector, property, pseudo, on }: Query) => {
    const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("there is no canvas");
    const known = new Map<string, Colour>();
    const converted = (colour: string): Colour => {
      const before = known.get(colour);
      if (before) return before;
      if (!CSS.supports("color", colour) || /^current/i.test(colour))
        throw new Error(`no colour: "${colour}"`);
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const [red = 0, green = 0, blue = 0, alpha = 0] = context.getImageData(0, 0, 1, 1).data;
      const rgba: Colour = [red, green, blue, alpha / 255];
      known.set(colour, rgba);
      return rgba;
    };
    const hasText = (element: Element) =>
      [...element.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim(),
      );
    const isShown = (element: Element) =>
      element.checkVisibility({ visibilityProperty: true }) &&
      getComputedStyle(element).clipPath === "none" &&
      getComputedStyle(element).clip === "auto";
    return [...document.querySelectorAll(selector ?? "body *")]
      .filter((element) => (selector ? true : hasText(element)) && isShown(element))
      .map((element) => {
        const ofText = element instanceof SVGElement ? "fill" : "color";
        const name = property ?? ofText;
        const layers: Painted["layers"] = [];
        let outer = on === "surroundings" ? element.parentElement : element;
        for (; outer; outer = outer.parentElement) {
          const { backgroundColor, opacity } = getComputedStyle(outer);
          layers.push({ background: converted(backgroundColor), opacity: Number(opacity) });
        }
        const label = element.textContent?.trim() || element.getAttribute("aria-label") || "";
        return {
          what: `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${label}" ${pseudo ?? ""} ${name}`,
          ink: converted(getComputedStyle(element, pseudo).getPropertyValue(name)),
          layers,
        };
      });
  }, query);
}

/** What one sees of a colour through its surroundings, in the end on white. */
function flatten(ink: Colour, layers: Painted["layers"]): Colour {
  let seen = ink;
  for (const { background, opacity } of layers) {
    const [red, green, blue, alpha] = over(seen, background);
    seen = [red, green, blue, alpha * opacity];
  }
  return over(seen, WHITE);
}

function over(upper: Colour, lower: Colour): Colour {
  const rest = lower[3] * (1 - upper[3]);
  const alpha = upper[3] + rest;
  if (alpha === 0) return [0, 0, 0, 0];
  const mix = (channel: 0 | 1 | 2) => (upper[channel] * upper[3] + lower[channel] * rest) / alpha;
  return [mix(0), mix(1), mix(2), alpha];
}

/** WCAG's contrast ratio. */
function contrast(one: Colour, other: Colour): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance([red, green, blue]: Colour): number {
  const linear = (channel: number) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}
