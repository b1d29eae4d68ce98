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
  announce: (text: string) => void,
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
      if (isPending) return;
      // The next step may be higher, and push the element away.
      keepInView(refs.form, active);
      // The visitor must learn that a code is needed. A field with a code is not new.
      if (form.code === "") announce(form.lead);
    } else if (isPending) refs.status.current?.focus({ preventScroll: true });
    else focusIn(refs.form, form.outcome === "joined" ? refs.button : refs.input);
  });
}

/** Moves the focus. The element's label and the form's first line are in view too if they have room. */
export function focusIn(
  form: RefObject<HTMLElement | null>,
  { current: element }: RefObject<HTMLInputElement | HTMLButtonElement | null>,
) {
  element?.focus({ preventScroll: true });
  keepInView(form, form.current?.firstElementChild, element?.labels?.[0], element);
}

/** Keeps elements clear of the toast, the last one above all. A visitor who has scrolled away from the form is not pulled back. */
function keepInView(
  form: RefObject<HTMLElement | null>,
  ...elements: (Element | null | undefined)[]
) {
  const box = form.current?.getBoundingClientRect();
  if (box && box.bottom > 0 && box.top < innerHeight) {
    for (const element of elements) element?.scrollIntoView({ block: "nearest" });
  }
}
