/** A hook that reports whether a section is in view. */
import { type RefObject, useEffect, useState } from "react";

/** A section that fills this share of the window counts as wholly visible. The header covers the rest. */
const WINDOW_SHARE = 0.8;

/**
 * Returns whether at least this share (0.01 to 1) of the section around `ref` is in view. A section may be too tall for the
 * window to show as much.
 */
export function useSectionInView(ref: RefObject<HTMLElement | null>, share: number): boolean {
  const [isInView, setIsInView] = useState(false);
  useEffect(() => {
    const section = ref.current?.closest("section");
    if (!section) return;
    let observer: IntersectionObserver | undefined;
    const observe = () => {
      observer?.disconnect();
      const windows = section.offsetHeight / innerHeight;
      const threshold = Math.min(share, WINDOW_SHARE / windows);
      const update: IntersectionObserverCallback = (entries) =>
        setIsInView((entries.at(-1)?.intersectionRatio ?? 0) >= threshold);
      observer = new IntersectionObserver(update, { threshold });
      observer.observe(section);
    };
    observe();
    // A visitor who zooms in makes the section taller than the window.
    addEventListener("resize", observe);
    return () => {
      removeEventListener("resize", observe);
      observer?.disconnect();
    };
  }, [ref, share]);
  return isInView;
}
