/**
 * The scripted launch (spec §4): waits until half of its section is in view, then reveals one line after
 * another. The server sends all lines revealed, and without this script they stay revealed.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { COPY } from "../bindings/copy";
import { useSectionInView } from "../use-section-in-view";
import { LINE_INTERVAL_MS, START_DELAY_MS } from "./timing";

export { hydrate } from "../hydrate";

/** The share of the section that must be in view (spec §9). */
const VISIBLE_THRESHOLD = 0.5;

const LINES = COPY.DEMO_LINES;

export default function DemoTerminal() {
  const ref = useRef<HTMLOListElement>(null);
  const revealed = useRevealedLines(ref);
  return (
    <div className="terminal">
      <p className="terminal-bar" aria-hidden="true" suppressHydrationWarning>
        {COPY.DEMO_DIRECTORY}
      </p>
      <ol ref={ref} className="terminal-lines" aria-label={COPY.DEMO_LABEL}>
        {LINES.map(([kind, text], index) => (
          <li key={text} data-kind={kind} data-state={index < revealed ? "shown" : "dimmed"}>
            <span suppressHydrationWarning>{text}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/**
 * Returns the number of revealed lines. One run plays at a time. When the section comes into view after the
 * end of a run, another run starts.
 */
function useRevealedLines(ref: React.RefObject<HTMLOListElement | null>): number {
  const [revealed, setRevealed] = useState<number>(LINES.length);
  const wasInView = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  const reveal = useCallback((count: number) => {
    setRevealed(count);
    const hasMore = count < LINES.length;
    timer.current = hasMore ? setTimeout(reveal, LINE_INTERVAL_MS, count + 1) : undefined;
  }, []);

  const onChange = useCallback(
    (share: number) => {
      const cameIntoView = share >= VISIBLE_THRESHOLD && !wasInView.current;
      wasInView.current = share >= VISIBLE_THRESHOLD;
      if (!cameIntoView || timer.current !== undefined || prefersReducedMotion()) return;
      timer.current = setTimeout(reveal, START_DELAY_MS, 1);
    },
    [reveal],
  );

  useSectionInView(ref, onChange);
  useEffect(() => {
    if (!prefersReducedMotion()) setRevealed(0);
    return () => clearTimeout(timer.current);
  }, []);
  return revealed;
}

const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
