/**
 * Texts that change, on a page that a translator may have changed before.
 *
 * React would write its own text over the translation, for good. So React renders the first text and never
 * another, and these hooks change what is there.
 */
import { type RefObject, useLayoutEffect } from "react";

/** Shows `text` instead of an element's own text while `text` is defined. The element's own text, translated
 * or not, comes back afterwards. The element keeps its width. */
export function useTemporaryText(
  ref: RefObject<HTMLElement | null>,
  text: string | undefined,
): void {
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element || text === undefined) return;
    const own = [...element.childNodes];
    element.style.minInlineSize = `${element.getBoundingClientRect().width}px`;
    element.replaceChildren(text);
    return () => {
      element.style.minInlineSize = "";
      element.replaceChildren(...own);
    };
  }, [ref, text]);
}

/** A number as a translator may write it: 1234, 1.234, 1 234. */
const NUMBER = /\p{Nd}+(?:[.,'’\s]\p{Nd}{3})*/u;

/** Writes a number over the one in an element's text. */
export function useNumber(ref: RefObject<HTMLElement | null>, number: number): void {
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      const changed = text.data.replace(NUMBER, String(number));
      // Writing an unchanged value would still be announced.
      if (changed !== text.data) text.data = changed;
    }
  }, [ref, number]);
}
