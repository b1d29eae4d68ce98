/** Where the focus is, and what of the form is in view. */

/** Returns whether the focus is in the form. In Safari a clicked button does not take it: an ancestor of the form has it. */
export function hasFocus(form: HTMLElement | null): boolean {
  const { activeElement } = document;
  return !!form?.contains(activeElement) || !!activeElement?.contains(form);
}

/** Returns whether a part of the form is in the window. A visitor who has scrolled away is not pulled back. */
export function isInView(form: HTMLElement | null): boolean {
  const box = form?.getBoundingClientRect();
  return !!box && box.bottom >= 0 && box.top <= innerHeight;
}

/**
 * Moves the focus to a control. The form's texts are in view too if they have room, unless the form was not in view before it
 * changed: a form that has become smaller may be above the window now.
 */
export function focusIn(form: HTMLElement | null, control: HTMLElement | null, wasInView = true) {
  control?.focus({ preventScroll: true });
  const texts = [".waitlist-message", ".waitlist-lead"];
  // If they have no room together, the second one is in view: the message if it says what is wrong, else what comes next.
  if (control?.ariaInvalid === "true") texts.reverse();
  if (wasInView) keepInView(...texts.map((it) => form?.querySelector(it)), control);
}

/** Keeps elements clear of the toast, the last one above all. */
export function keepInView(...elements: (Element | null | undefined)[]) {
  const scroll = () => {
    for (const element of elements)
      element?.scrollIntoView({ block: "nearest", behavior: "instant" });
  };
  scroll();
  // That ends a scroll which was under way, but Chromium adds its last step.
  requestAnimationFrame(scroll);
}
