/** How much of an element is in view. */
import { type RefObject, useEffect } from "react";

/** Steps of 1 %. In a section of up to five windows, a step is at most the 5 % of the window that may be
 * missing when it counts as filled. */
const THRESHOLDS = Array.from({ length: 101 }, (_, step) => step / 100);

/**
 * Calls back whenever the share (0 to 1) of the section around `ref` that is in view changes.
 * A section so tall that a window can't show half of it counts as half seen when it fills the
 * window.
 */
export function useSectionInView(
  ref: RefObject<HTMLElement | null>,
  onChange: (share: number) => void,
): void {
  useEffect(() => {
    const section = ref.current?.closest("section") ?? ref.current;
    if (!section) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const entry = entries.at(-1);
        if (!entry) return;
        const window = entry.rootBounds?.height ?? Number.POSITIVE_INFINITY;
        const fills = entry.intersectionRect.height >= window * 0.95;
        onChange(fills ? Math.max(entry.intersectionRatio, 0.5) : entry.intersectionRatio);
      },
      { threshold: THRESHOLDS },
    );
    observer.observe(section);
    return () => observer.disconnect();
  }, [ref, onChange]);
}
