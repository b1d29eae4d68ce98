/** The toast (spec §4, §9): shows the toast store with Radix Toast. */
import * as Radix from "@radix-ui/react-toast";
import { useCallback, useRef, useSyncExternalStore } from "react";
import * as COPY from "./copy.json";
import { dismissToast, getSnapshot, subscribe, type Toast } from "../toast-store";

export { hydrate } from "../hydrate";

/** Spec §9. */
const DURATION_MS = 5000;
const SWIPE_THRESHOLD_PX = 50;
const HOTKEY = "F8";

export default function Toaster() {
  const toast = useSyncExternalStore(subscribe, getSnapshot, () => undefined);
  // `undefined` on the server, which renders nothing: without JavaScript there are no toasts.
  const windowHasFocus = useSyncExternalStore(
    onWindowFocusChange,
    () => document.hasFocus(),
    () => undefined,
  );
  // The element that had the focus before it moved to the toasts. The listener is native because React's
  // onFocus misses two things: Radix's Tab stops around the list, and the toasts, which are in a portal.
  const previousFocus = useRef<HTMLElement>(null);
  const watchFocus = useCallback((list: HTMLElement | null) => {
    const region = list?.parentElement;
    region?.addEventListener("focusin", ({ relatedTarget }) => {
      // `relatedTarget` is null when the visitor comes back from another window.
      if (!(relatedTarget instanceof HTMLElement)) return;
      if (!region.contains(relatedTarget)) previousFocus.current = relatedTarget;
    });
  }, []);
  if (windowHasFocus === undefined) return null;

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
    <Radix.Provider
      // Remounts for each toast. Radix pauses its timer while the pointer or the focus is on a toast. If the
      // toast closes then, the timer stays paused and the next toast would never close
      // (radix-ui/primitives#2233).
      key={toast?.id}
      // A toast stays open while the visitor is in another window.
      duration={windowHasFocus ? DURATION_MS : Number.POSITIVE_INFINITY}
      swipeDirection="right"
      swipeThreshold={SWIPE_THRESHOLD_PX}
    >
      {toast && <ToastItem toast={toast} close={close} />}
      <Radix.Viewport
        className="toasts"
        hotkey={toast?.open ? [HOTKEY] : []}
        label={COPY.TOASTS_LABEL}
        ref={watchFocus}
      />
    </Radix.Provider>
  );
}

function ToastItem({
  toast: { open, variant, title, text },
  close,
}: {
  toast: Toast;
  close: () => void;
}) {
  return (
    <Radix.Root
      className="toast"
      data-variant={variant}
      // Announced politely: it responds to the visitor's own action.
      type="background"
      open={open}
      onOpenChange={close}
    >
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
  );
}

function onWindowFocusChange(listener: () => void): () => void {
  for (const name of ["focus", "blur"]) addEventListener(name, listener);
  return () => {
    for (const name of ["focus", "blur"]) removeEventListener(name, listener);
  };
}
