/** The elements of the form, and which of them has the focus. */
import { type RefObject, useEffect, useRef } from "react";
import type { View } from "./use-view";

/** Returns the elements that the form reads, changes behind React, or moves the focus to. */
export function useRefs() {
  return {
    form: useRef<HTMLFormElement>(null),
    input: useRef<HTMLInputElement>(null),
    honeypot: useRef<HTMLInputElement>(null),
    button: useRef<HTMLButtonElement>(null),
    status: useRef<HTMLParagraphElement>(null),
  };
}

/**
 * The disabled controls lose the focus. It waits on the status, and returns afterwards: to the button if nothing is
 * left to type, because in the field it would open a phone's keyboard over the toast, otherwise to the field.
 */
export function useFocus(
  refs: ReturnType<typeof useRefs>,
  { form, isPending }: View,
  update: (change: Partial<View>) => void,
) {
  const wasPending = useRef(false);
  useEffect(() => {
    if (isPending === wasPending.current) return;
    wasPending.current = isPending;
    const active = document.activeElement;
    // In Safari a clicked button does not take the focus: an ancestor of the form has it.
    const hasMovedOn = !active?.contains(refs.form.current) && !refs.form.current?.contains(active);
    if (hasMovedOn) {
      update({ isAnnounced: false });
      // The visitor is elsewhere, and must learn that a code is needed. A field with a code is not new.
      if (!isPending && form.code === "") update({ announcement: form.lead });
    } else if (isPending) refs.status.current?.focus({ preventScroll: true });
    else focusIn(refs.form, form.outcome === "joined" ? refs.button : refs.input);
  });
}

/**
 * Moves the focus, and keeps the element clear of the toast, also its label and the form's first line if they have room.
 * A visitor who has scrolled away is not pulled back.
 */
export function focusIn(
  { current: form }: RefObject<HTMLElement | null>,
  { current: element }: RefObject<HTMLInputElement | HTMLButtonElement | null>,
) {
  element?.focus({ preventScroll: true });
  const { top = 0, bottom = 0 } = form?.getBoundingClientRect() ?? {};
  if (bottom <= 0 || top >= innerHeight) return;
  for (const part of [form?.firstElementChild, ...(element?.labels ?? []), element]) {
    part?.scrollIntoView({ block: "nearest", behavior: "instant" });
  }
}
