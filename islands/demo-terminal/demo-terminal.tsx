/** The scripted launch (spec §4): waits until half of its section is in view, then reveals line
 * after line. The server sends all lines revealed: without this script they stay so. */
import { useCallback, useEffect, useRef, useState } from "react";
import { COPY } from "../bindings/copy";
import { useSectionInView } from "../visible";

export { mount } from "../mount";

/** Spec §9, in milliseconds. */
const START_DELAY = 1000;
const LINE_INTERVAL = 800;
/** Spec §9: the share of the section that must be in view. */
const THRESHOLD = 0.5;

const LINES = COPY.DEMO_LINES;

export default function DemoTerminal() {
  const ref = useRef<HTMLOListElement>(null);
  const revealed = useReveal(ref);
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

/** How many lines are revealed. One run at a time; coming into view after the end starts another. */
function useReveal(ref: React.RefObject<HTMLOListElement | null>): number {
  const [revealed, setRevealed] = useState<number>(LINES.length);
  const inView = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  const reveal = useCallback((count: number) => {
    setRevealed(count);
    const more = count < LINES.length;
    timer.current = more ? setTimeout(reveal, LINE_INTERVAL, count + 1) : undefined;
  }, []);

  const onChange = useCallback(
    (share: number) => {
      const cameIntoView = share >= THRESHOLD && !inView.current;
      inView.current = share >= THRESHOLD;
      if (!cameIntoView || timer.current !== undefined || prefersReducedMotion()) return;
      timer.current = setTimeout(reveal, START_DELAY, 1);
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
