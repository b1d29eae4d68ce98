/** The toasts (spec §4, §9): Radix Toast over the shared store. */
import * as Radix from "@radix-ui/react-toast";
import { useCallback, useRef, useSyncExternalStore } from "react";
import { COPY } from "../bindings/copy";
import { dismiss, snapshot, subscribe, type Toast } from "../toast-store";

export { mount } from "../mount";

/** Spec §9. */
const DURATION = 5000;
const SWIPE_THRESHOLD = 50;
const HOTKEY = ["F8"];
const NO_HOTKEY: string[] = [];

const NONE: readonly Toast[] = [];

export default function Toaster() {
  const toasts = useSyncExternalStore(subscribe, snapshot, () => NONE);
  // Nothing to prerender: without JavaScript there are no toasts, and no region for them.
  const windowHasFocus = useSyncExternalStore(
    onFocusChange,
    () => document.hasFocus(),
    () => undefined,
  );
  // The element that had the focus before the toasts. The listener is native: React's onFocus misses Radix's
  // Tab stops around the list, and the toasts, which are in a portal.
  const previousFocus = useRef<EventTarget | null>(null);
  const watchFocus = useCallback((list: HTMLElement | null) => {
    const region = list?.parentElement;
    region?.addEventListener("focusin", ({ relatedTarget }) => {
      const isInside = relatedTarget instanceof Node && region.contains(relatedTarget);
      if (!isInside) previousFocus.current = relatedTarget;
    });
  }, []);
  if (windowHasFocus === undefined) return null;
  const isOpen = toasts.some(({ open }) => open);

  function close(id: number) {
    const active = document.activeElement;
    if (active?.closest(".toasts")) {
      if (previousFocus.current instanceof HTMLElement)
        previousFocus.current.focus({ preventScroll: true });
      else if (active instanceof HTMLElement) active.blur();
    }
    dismiss(id);
  }

  return (
    <Radix.Provider
      // Remounted for each toast: Radix pauses under pointer and focus, and after a close there it stays
      // paused, so that the next toast would not close (radix-ui/primitives#2233).
      key={toasts[0]?.id}
      // A toast waits for a visitor who is in another window.
      duration={windowHasFocus ? DURATION : Number.POSITIVE_INFINITY}
      swipeDirection="right"
      swipeThreshold={SWIPE_THRESHOLD}
    >
      {toasts.map(({ id, open, variant, title, text }) => (
        <Radix.Root
          key={id}
          className="toast"
          data-variant={variant}
          // Announced politely: it answers what the visitor has just done.
          type="background"
          open={open}
          onOpenChange={(open) => {
            if (!open) close(id);
          }}
        >
          {/* What is read aloud is one text after the other: the space keeps them apart. */}
          <Radix.Title className="toast-title">{`${title} `}</Radix.Title>
          <Radix.Description className="toast-text">{text}</Radix.Description>
          <Radix.Close className="toast-close" aria-label={COPY.TOAST_CLOSE}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M4 4l8 8M12 4l-8 8" />
            </svg>
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport
        className="toasts"
        hotkey={isOpen ? HOTKEY : NO_HOTKEY}
        label={COPY.TOASTS_LABEL}
        ref={watchFocus}
      />
    </Radix.Provider>
  );
}

function onFocusChange(listener: () => void): () => void {
  for (const name of ["focus", "blur"]) addEventListener(name, listener);
  return () => {
    for (const name of ["focus", "blur"]) removeEventListener(name, listener);
  };
}
