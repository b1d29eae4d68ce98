/** Where the focus is, and what of the form is in view. */

/** Returns whether the focus is in the form. In Safari a clicked button does not take it: an ancestor of the form has it. */
export function hasFocus(form: HTMLElement | null): boolean {
  const { activeElement } = document;
  return !!form?.contains(activeElement) || !!activeElement?.contains(form);
}

/** Moves the focus to a control. Its label and the form's texts are in view too if they have room. */
export function focusIn(form: HTMLElement | null, control: HTMLElement | null) {
  control?.focus({ preventScroll: true });
  const texts = [".waitlist-message", ".waitlist-lead", "label"];
  keepInView(form, ...texts.map((it) => form?.querySelector(it)), control);
}

/** Keeps elements clear of the toast, the last one above all. A visitor who has scrolled away from the form is not pulled back. */
export function keepInView(form: HTMLElement | null, ...elements: (Element | null | undefined)[]) {
  const box = form?.getBoundingClientRect();
  if (!box || box.bottom < 0 || box.top > innerHeight) return;
  for (const element of elements)
    element?.scrollIntoView({ block: "nearest", behavior: "instant" });
}
