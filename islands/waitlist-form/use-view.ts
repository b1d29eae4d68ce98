/** What the form shows: its step, and the outcome of the last submit until the visitor types. */
import { type RefObject, useRef, useState } from "react";
import type { FormState } from "../bindings/wire";
import { dismissToast, showToast } from "../toast-store";
import * as COPY from "./copy.json";
import { hasFailed, pristine, type Settings } from "./submission";
import { trimInvisible } from "./typed";

/** How long a text stays in the live region, in milliseconds. The page shows it too, so it is not read a second time. */
const ANNOUNCEMENT_MS = 1000;
/** An empty submit within this time after a success, in milliseconds, is a double click or a held key. */
const REPEAT_INTERVAL_MS = 1000;

export interface View {
  readonly form: FormState;
  readonly isPending: boolean;
  /** Read by screen readers when there is no toaster to announce the outcome. */
  readonly announcement: string;
  /** A toast or the browser announces the error. Until the focus leaves the field, the field's description leaves it out. */
  readonly isAnnounced: boolean;
}

export function useView(
  settings: Settings,
  initial: FormState,
  input: RefObject<HTMLInputElement | null>,
) {
  const [view, setView] = useState<View>({
    form: initial,
    isPending: false,
    announcement: "",
    isAnnounced: false,
  });
  const valueAtOutcome = useRef(fieldValue(initial));
  // When the form last changed its field or ignored a repeat, or 0 once the visitor has typed.
  const changedAt = useRef(0);

  const update = (change: Partial<View>) => setView((before) => ({ ...before, ...change }));

  /** Lets screen readers read a text. */
  function announce(announcement: string) {
    update({ announcement });
    setTimeout(update, ANNOUNCEMENT_MS, { announcement: "" });
  }

  /** Shows a form. A toast announces the text, if there is one. */
  function show(form: FormState, text?: string) {
    const value = fieldValue(form);
    if (input.current && value !== input.current.value) {
      input.current.value = value;
      changedAt.current = Date.now();
    }
    valueAtOutcome.current = value;
    const isError = hasFailed(form);
    update({ form, isPending: false, isAnnounced: isError });
    if (text === undefined) return dismissToast();
    const title = isError ? COPY.ERROR_TITLE : COPY.JOINED_TITLE;
    const variant = isError ? "destructive" : "default";
    showToast({ title, text, variant }, () => announce(text));
  }

  function onInput() {
    changedAt.current = 0;
    const value = input.current?.value ?? "";
    // The browser would reject an address with an invisible character, which nobody can find.
    const visible = trimInvisible(value);
    if (input.current && view.form.step === "email" && visible !== value)
      input.current.value = visible;
    // Password managers dispatch input events that change nothing.
    if (value !== valueAtOutcome.current)
      update({ form: pristine(view.form, settings), announcement: "" });
  }

  /** Returns whether an empty submit repeats the one that has emptied the field. */
  function isRepeat() {
    if (Date.now() - changedAt.current >= REPEAT_INTERVAL_MS) return false;
    changedAt.current = Date.now();
    return true;
  }

  return { view, update, announce, show, onInput, isRepeat };
}

/** Returns the content of the field. */
export const fieldValue = ({ step, email, code }: FormState) => (step === "code" ? code : email);
