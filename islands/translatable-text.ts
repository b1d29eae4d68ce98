/**
 * Hooks that change texts on a page that a translator may have changed.
 *
 * React would overwrite the translation with its own text. So React renders only the first text of an
 * element, and these hooks edit the text in the DOM.
 */
import { type RefObject, useLayoutEffect } from "react";

/**
 * Replaces an element's content with `text` while `text` is defined, and then restores the content,
 * translated or not. The element keeps its width.
 */
export function useTemporaryText(
  ref: RefObject<HTMLElement | null>,
  text: string | undefined,
): void {
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element || text === undefined) return;
    const original = [...element.childNodes];
    element.style.minInlineSize = `${element.getBoundingClientRect().width}px`;
    element.replaceChildren(text);
    return () => {
      element.style.minInlineSize = "";
      element.replaceChildren(...original);
    };
  }, [ref, text]);
}

/** Matches a number as a translator may write it: 1234, 1.234, 1 234. */
const NUMBER = /\p{Nd}+(?:[.,'’\s]\p{Nd}{3})*/u;

/** Replaces the number in an element's text with `number`. */
export function useNumberInText(ref: RefObject<HTMLElement | null>, number: number): void {
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      const updated = text.data.replace(NUMBER, String(number));
      // Screen readers announce even an unchanged value when it is written.
      if (updated !== text.data) text.data = updated;
    }
  }, [ref, number]);
}
