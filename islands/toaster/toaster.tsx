/** The toast (spec §4, §9): shows the toast store with Radix Toast. */
import * as Radix from "@radix-ui/react-toast";
import { type FocusEvent, useRef, useSyncExternalStore } from "react";
import * as COPY from "./copy.json";
import { dismissToast, getSnapshot, subscribe } from "../toast-store";

export { hydrate } from "../hydrate";

/** Spec §9. */
const DURATION_MS = 5000;
const SWIPE_THRESHOLD_PX = 50;
const HOTKEY = "F8";

/** Without a toast it renders nothing, so that there is no landmark and no key. */
export default function Toaster() {
  const toast = useSyncExternalStore(subscribe, getSnapshot, () => undefined);
  /** The element that had the focus before it moved to the toast. */
  const previousFocus = useRef<HTMLElement>(null);
  if (!toast?.open) return null;
  const { id, variant, title, text } = toast;

  function onFocus({ currentTarget, relatedTarget }: FocusEvent) {
    // `relatedTarget` is null when the visitor comes back from another window.
    if (relatedTarget instanceof HTMLElement && !currentTarget.contains(relatedTarget))
      previousFocus.current = relatedTarget;
  }

  function close() {
    const active = document.activeElement;
    if (active instanceof HTMLElement && active.closest(".toasts")) {
      // A keyboard may have scrolled the page from here. A click does not scroll it back.
      const preventScroll = !active.matches(":focus-visible");
      active.blur();
      previousFocus.current?.focus({ preventScroll });
    }
    previousFocus.current = null;
    dismissToast();
  }

  return (
    <div onFocus={onFocus}>
      <Radix.Provider
        // Remounts for each toast. Radix pauses its timer while the pointer or the focus is on a toast. If the
        // toast closes then, the timer stays paused and the next toast would never close
        // (radix-ui/primitives#2233).
        key={id}
        duration={DURATION_MS}
        swipeDirection="right"
        swipeThreshold={SWIPE_THRESHOLD_PX}
      >
        {/* Announced politely: it responds to the visitor's own action. */}
        <Radix.Root className="toast" data-variant={variant} type="background" onOpenChange={close}>
          {/* First, so that it can stay in view while a long text is scrolled. */}
          <Radix.Close className="toast-close icon-button" aria-label={COPY.TOAST_CLOSE}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M4 4l8 8M12 4l-8 8" />
            </svg>
          </Radix.Close>
          {/* Screen readers join the texts. The space separates the title from the text. */}
          <Radix.Title className="toast-title">{`${title} `}</Radix.Title>
          <Radix.Description className="toast-text">{text}</Radix.Description>
        </Radix.Root>
        <Radix.Viewport className="toasts" hotkey={[HOTKEY]} label={COPY.TOASTS_LABEL} />
      </Radix.Provider>
    </div>
  );
}
