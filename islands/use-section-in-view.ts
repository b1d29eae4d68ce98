/** A hook that reports whether a section is in view. */
import { type RefObject, useEffect, useState } from "react";

/**
 * Steps of 1 % of the section. In a section of up to five windows' height, a step is at most 5 % of the
 * window. A section may leave that much of the window uncovered and still count as filling it.
 */
const THRESHOLDS = Array.from({ length: 101 }, (_, step) => step / 100);

/**
 * Returns whether at least this share (0.01 to 1) of the section around `ref` is in view. A section that fills the
 * window counts as wholly visible: it may be too tall to show a larger share.
 */
export function useSectionInView(ref: RefObject<HTMLElement | null>, share: number): boolean {
  const [isInView, setIsInView] = useState(false);
  useEffect(() => {
    const section = ref.current?.closest("section") ?? ref.current;
    if (!section) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const entry = entries.at(-1);
        if (!entry) return;
        // The fixed bar covers a part of the window, and links scroll to below it.
        const bar =
          Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingBlockStart) ||
          0;
        const windowHeight = (entry.rootBounds?.height ?? Number.POSITIVE_INFINITY) - bar;
        const fillsWindow = entry.intersectionRect.height >= windowHeight * 0.95;
        setIsInView(fillsWindow || entry.intersectionRatio >= share);
      },
      { threshold: THRESHOLDS },
    );
    observer.observe(section);
    return () => observer.disconnect();
  }, [ref, share]);
  return isInView;
}
