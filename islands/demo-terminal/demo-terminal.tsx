/**
 * The scripted launch (spec §4): waits until half of its section is in view, then reveals one line after
 * another. The server sends all lines dimmed. `style/demo-terminal.css` dims them only for visitors who have
 * scripts and do not prefer reduced motion.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import * as COPY from "./copy.json";
import { useSectionInView } from "../use-section-in-view";
import { LINE_INTERVAL_MS, START_DELAY_MS } from "./timing";

export { hydrate } from "../hydrate";

/** The share of the section that must be in view (spec §9). */
const VISIBLE_THRESHOLD = 0.5;

const LINES = COPY.DEMO_LINES.map(({ kind, text }) => ({
  kind,
  text: text.replace("{revenue}", () => COPY.SAMPLE_REVENUE),
}));

/** What the button does: its name and its icon. */
const ACTIONS = {
  pause: [COPY.DEMO_PAUSE, "M5 3v10M11 3v10"],
  play: [COPY.DEMO_PLAY, "M4 3l9 5l-9 5z"],
  replay: [COPY.DEMO_REPLAY, "M3 2v4h4M3 6a5.5 5.5 0 1 1-.3 4"],
} as const;

export default function DemoTerminal() {
  const ref = useRef<HTMLOListElement>(null);
  const { revealed, action, press } = useRun(ref);
  const [name, icon] = ACTIONS[action];
  return (
    <div className="terminal">
      <div className="terminal-bar">
        <span aria-hidden="true" suppressHydrationWarning>
          {COPY.DEMO_DIRECTORY}
        </span>
        <button type="button" className="icon-button" aria-label={name} onClick={press}>
          <svg viewBox="0 0 16 16">
            <path d={icon} />
          </svg>
        </button>
      </div>
      <ol ref={ref} className="terminal-lines" aria-label={COPY.DEMO_LABEL}>
        {LINES.map(({ kind, text }, index) => (
          <li key={text} data-kind={kind} data-state={index < revealed ? "shown" : "dimmed"}>
            <span suppressHydrationWarning>{text}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/**
 * Returns the number of revealed lines, and what the button does. One run plays at a time. When the section comes
 * into view after the end of a run, another run starts.
 */
function useRun(ref: React.RefObject<HTMLOListElement | null>) {
  const [revealed, setRevealed] = useState<number>(0);
  const [action, setAction] = useState<keyof typeof ACTIONS>("pause");
  const wasInView = useRef(false);
  /** The next line of the run in progress, and its timer unless the visitor holds the run. */
  const run = useRef<{ next: number; timer?: ReturnType<typeof setTimeout> }>(undefined);

  const play = useCallback((next: number) => {
    const reveal = () => {
      setRevealed(next);
      if (next < LINES.length) return play(next + 1);
      run.current = undefined;
      setAction("replay");
    };
    const wait = next === 1 ? START_DELAY_MS : LINE_INTERVAL_MS;
    run.current = { next, timer: setTimeout(reveal, wait) };
    setAction("pause");
  }, []);

  const press = () => {
    const next = run.current?.next ?? 1;
    if (action === "pause") {
      clearTimeout(run.current?.timer);
      // Also before the run, which then does not start when the section comes into view.
      run.current = { next };
      setAction("play");
    } else {
      if (next === 1) setRevealed(0);
      play(next);
    }
  };

  const onChange = useCallback(
    (share: number) => {
      const cameIntoView = share >= VISIBLE_THRESHOLD && !wasInView.current;
      wasInView.current = share >= VISIBLE_THRESHOLD;
      if (cameIntoView && !run.current && !prefersReducedMotion()) play(1);
    },
    [play],
  );

  useSectionInView(ref, onChange);
  useEffect(() => {
    if (prefersReducedMotion()) setRevealed(LINES.length);
    return () => clearTimeout(run.current?.timer);
  }, []);
  return { revealed, action, press };
}

const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
