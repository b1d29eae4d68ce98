/** Contrast ratios as painted: computed colours, composited with opacities and backgrounds. */
import type { Page } from "@playwright/test";

/** Red, green and blue from 0 to 255, alpha from 0 to 1. */
type Colour = readonly [red: number, green: number, blue: number, alpha: number];

/** Which colours to measure. */
export interface ContrastQuery {
  /** The elements to measure. By default all elements that contain text. */
  selector?: string;
  /** The CSS property that holds the colour. By default the colour of text, also in drawings. */
  property?: string;
  pseudo?: string;
  /** What the colour is painted on: the element's own background, or that of its parent. */
  on?: "element" | "parent";
}

interface PaintedColour {
  name: string;
  colour: Colour;
  /** Backgrounds and opacities, from the innermost element outwards. */
  layers: { background: Colour; opacity: number }[];
}

export interface Contrast {
  /** The element, its text and the property. */
  name: string;
  ratio: number;
}

const WHITE: Colour = [255, 255, 255, 1];
const TRANSPARENT: Colour = [0, 0, 0, 0];

/** Measures the contrast of every visible match with its background. */
export async function measureContrast(page: Page, query: ContrastQuery = {}): Promise<Contrast[]> {
  return (await paintedColours(page, query)).map(({ name, colour, layers }) => ({
    name,
    ratio: contrastRatio(composite(colour, layers), composite(TRANSPARENT, layers)),
  }));
}

/** Describes the contrasts that are too low, for the message of a failed assertion. */
export function tooLow(minimum: number, contrasts: Contrast[]): string[] {
  return contrasts
    .filter(({ ratio }) => ratio < minimum)
    .map(({ name, ratio }) => `${name} has ${ratio.toFixed(2)}, less than ${minimum}`);
}

function paintedColours(page: Page, query: ContrastQuery): Promise<PaintedColour[]> {
  return page.evaluate(({ selector, property, pseudo, on }: ContrastQuery) => {
    const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("there is no canvas");
    const parsed = new Map<string, Colour>();

    /** Converts a computed colour, in any CSS notation, by painting one pixel with it. */
    const parseColour = (css: string): Colour => {
      const cached = parsed.get(css);
      if (cached) return cached;
      if (!CSS.supports("color", css) || /^current/i.test(css))
        throw new Error(`not a colour: "${css}"`);
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = css;
      context.fillRect(0, 0, 1, 1);
      const [red = 0, green = 0, blue = 0, alpha = 0] = context.getImageData(0, 0, 1, 1).data;
      const colour: Colour = [red, green, blue, alpha / 255];
      parsed.set(css, colour);
      return colour;
    };
    const hasText = (element: Element) =>
      [...element.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim(),
      );
    const isVisible = (element: Element) =>
      element.checkVisibility({ visibilityProperty: true }) &&
      getComputedStyle(element).clipPath === "none" &&
      getComputedStyle(element).clip === "auto";

    return [...document.querySelectorAll(selector ?? "body *")]
      .filter((element) => (selector ? true : hasText(element)) && isVisible(element))
      .map((element) => {
        const textProperty = element instanceof SVGElement ? "fill" : "color";
        const colourProperty = property ?? textProperty;
        const layers: PaintedColour["layers"] = [];
        let layer = on === "parent" ? element.parentElement : element;
        for (; layer; layer = layer.parentElement) {
          const { backgroundColor, opacity } = getComputedStyle(layer);
          layers.push({ background: parseColour(backgroundColor), opacity: Number(opacity) });
        }
        const tag = element.tagName.toLowerCase();
        const label = element.textContent?.trim() || element.getAttribute("aria-label") || "";
        return {
          name: `${tag}.${element.getAttribute("class") ?? ""} "${label}" ${pseudo ?? ""} ${colourProperty}`,
          colour: parseColour(getComputedStyle(element, pseudo).getPropertyValue(colourProperty)),
          layers,
        };
      });
  }, query);
}

/** Composites a colour with the layers around it, and finally with a white canvas. */
function composite(colour: Colour, layers: PaintedColour["layers"]): Colour {
  let result = colour;
  for (const { background, opacity } of layers) {
    const [red, green, blue, alpha] = blend(result, background);
    result = [red, green, blue, alpha * opacity];
  }
  return blend(result, WHITE);
}

/** Paints one colour over another. */
function blend(upper: Colour, lower: Colour): Colour {
  const lowerShare = lower[3] * (1 - upper[3]);
  const alpha = upper[3] + lowerShare;
  if (alpha === 0) return TRANSPARENT;
  const mix = (channel: 0 | 1 | 2) =>
    (upper[channel] * upper[3] + lower[channel] * lowerShare) / alpha;
  return [mix(0), mix(1), mix(2), alpha];
}

/** The contrast ratio as WCAG defines it. */
function contrastRatio(first: Colour, second: Colour): number {
  const [dark = 0, light = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance([red, green, blue]: Colour): number {
  const linear = (channel: number) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}
