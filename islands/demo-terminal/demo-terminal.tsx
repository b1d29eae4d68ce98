/**
 * The scripted launch (spec §4): waits until half of its section is in view, then reveals one line after
 * another. The server sends all lines dimmed. `style/demo-terminal.css` dims them only for visitors who have
 * scripts and do not prefer reduced motion.
 */
import { useEffect, useRef, useState } from "react";
import * as COPY from "./copy.json";
import { useSectionInView } from "../use-section-in-view";

export { hydrate } from "../hydrate";

/** The timing, in milliseconds (spec §9). */
const START_DELAY_MS = 1000;
const LINE_INTERVAL_MS = 800;
/** The share of the section that must be in view (spec §9). */
const VISIBLE_THRESHOLD = 0.5;

const LINES = COPY.DEMO_LINES.map(({ kind, text }) => ({
  kind,
  text: text.replace("{revenue}", () => COPY.SAMPLE_REVENUE),
}));

const PAUSE = [COPY.DEMO_PAUSE, "M5 3v10M11 3v10"] as const;
/** The name and the icon of the button in each phase of a run. Before the run it pauses too: then the run does not start in view. */
const BUTTONS = {
  waiting: PAUSE,
  playing: PAUSE,
  paused: [COPY.DEMO_PLAY, "M4 3l9 5l-9 5z"],
  ended: [COPY.DEMO_REPLAY, "M3 2v4h4M3 6a5.5 5.5 0 1 1-.3 4"],
} as const;

export default function DemoTerminal() {
  const ref = useRef<HTMLOListElement>(null);
  const { revealed, phase, press } = useRun(ref);
  const [name, icon] = BUTTONS[phase];
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
 * Returns the number of revealed lines, and what the button follows from. One run plays at a time. When the section comes
 * into view after the end of a run, another run starts.
 */
function useRun(ref: React.RefObject<HTMLOListElement | null>) {
  const [revealed, setRevealed] = useState<number>(0);
  const [phase, setPhase] = useState<keyof typeof BUTTONS>("waiting");
  const isInView = useSectionInView(ref, VISIBLE_THRESHOLD);

  useEffect(() => {
    if (prefersReducedMotion()) setRevealed(LINES.length);
    else if (isInView) setPhase((before) => (before === "paused" ? before : "playing"));
  }, [isInView]);

  useEffect(() => {
    if (phase !== "playing") return;
    // The lines of the last run stay until the first line of the next one.
    const next = (revealed % LINES.length) + 1;
    const reveal = () => {
      setRevealed(next);
      if (next === LINES.length) setPhase("ended");
    };
    const timer = setTimeout(reveal, next === 1 ? START_DELAY_MS : LINE_INTERVAL_MS);
    return () => clearTimeout(timer);
  }, [phase, revealed]);

  const press = () => {
    setPhase(BUTTONS[phase] === PAUSE ? "paused" : "playing");
    if (phase === "ended") setRevealed(0);
  };
  return { revealed, phase, press };
}

const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
