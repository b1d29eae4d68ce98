/** The link by which a visitor who has joined invites others, with the visitor's place in line. Loaded when it is shown. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Invitation } from "../bindings/wire";
import * as COPY from "./copy.json";

// As each island, or React would be split into more chunks.
export { hydrate } from "../hydrate";

/** The invitation, and the label of its link. */
export type InvitationPanelProps = Invitation & { label: string };

export default function InvitationPanel({ label, link, place }: InvitationPanelProps) {
  const id = useId();
  const panel = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [copyLabel, setCopyLabel] = useState(COPY.COPY_LINK);
  const [spoken, setSpoken] = useState("");
  const lead = COPY.PLACE.replace("{place}", String(place));
  useLayoutEffect(() => keepFormInPlace(panel.current), []);
  // Screen readers speak only what changes in a status that they know.
  useEffect(() => {
    const timer = setTimeout(() => setSpoken(lead), 100);
    return () => clearTimeout(timer);
  }, [lead]);

  async function copy() {
    let result = COPY.COPIED;
    // The same text is spoken again only if it has changed in between.
    setSpoken("");
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      // Over plain HTTP, or not allowed. The visitor can copy what is selected.
      result = COPY.NOT_COPIED;
      input.current?.select();
    }
    setCopyLabel(result);
    setSpoken(result);
  }
  return (
    // It looks like the first step of the form. The margin is here, because a page without invitations does not need it.
    <div
      ref={panel}
      className="waitlist"
      data-step="email"
      style={{ marginBlockStart: "var(--space)" }}
    >
      <p className="waitlist-lead">{lead}</p>
      <label htmlFor={id}>{label}</label>
      <input
        ref={input}
        id={id}
        dir="ltr"
        readOnly
        value={link}
        onFocus={(event) => event.target.select()}
      />
      <button
        type="button"
        className="button"
        data-label={COPY.COPY_LINK}
        onClick={() => void copy()}
        onBlur={() => setCopyLabel(COPY.COPY_LINK)}
      >
        <span key={copyLabel}>{copyLabel}</span>
      </button>
      <p className="visually-hidden" role="status">
        {spoken}
      </p>
    </div>
  );
}

/** The section is centred, so the panel has pushed the form up. Scrolls by as much, unless the visitor reads something else. */
function keepFormInPlace(panel: HTMLElement | null) {
  const form = panel?.previousElementSibling;
  if (!panel || !form) return;
  const now = form.getBoundingClientRect().top;
  panel.style.display = "none";
  const { top: before, bottom } = form.getBoundingClientRect();
  panel.style.display = "";
  if (bottom < 0 || before > innerHeight) return;
  scrollBy({ top: now - before, behavior: "instant" });
}
