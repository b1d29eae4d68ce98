/** What the form shows, what a submit does (spec §4, §5), and the link back to its first step. */
import { type FormEvent, type KeyboardEvent, type MouseEvent, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { FormState, Invitation } from "../bindings/wire";
import { dismissToast, showToast } from "../toast-store";
import * as COPY from "./copy.json";
import { focusIn, hasFocus, isInView, keepInView } from "./focus";
import { emailForm, pristine, type Settings, type Submission, submit } from "./submission";
import { readCode, trimInvisible, withAsciiDomain } from "./typed";
import { useUsualTitle } from "./use-usual-title";

/** A submit of nothing or of a wrong code, or a way back, within this time after a response is a double click. In ms. */
const REPEAT_INTERVAL_MS = 1000;

export type FormControls = ReturnType<typeof useForm>;

/** `initial` is what the server's page shows. `onSuccess` is called after each submit that succeeds. */
export function useForm(settings: Settings, initial: FormState, onSuccess: () => void) {
  const refs = {
    form: useRef<HTMLFormElement>(null),
    input: useRef<HTMLInputElement>(null),
    honeypot: useRef<HTMLInputElement>(null),
    button: useRef<HTMLButtonElement>(null),
    status: useRef<HTMLParagraphElement>(null),
    otherAddress: useRef<HTMLAnchorElement>(null),
  };
  const [view, setView] = useState({
    form: initial,
    isPending: false,
    /** For screen readers, if no toast announces it. */
    announcement: "",
    /** A toast or the browser announces the error. Until the focus leaves the field, the field's description leaves it out. */
    isAnnounced: false,
    invitation: undefined as Invitation | undefined,
  });
  const { form } = view;
  // Not `isPending`: it is as old as the last render, and two submits can come before the next one.
  const isSending = useRef(false);
  /** When the last response came, unless the visitor has typed since. Not by the clock, which may be set back. */
  const respondedAt = useRef(-REPEAT_INTERVAL_MS);
  useUsualTitle(form);

  const update = (change: Partial<typeof view>) => setView((before) => ({ ...before, ...change }));
  const typed = () => refs.input.current?.value ?? "";
  const isRepeated = () => performance.now() - respondedAt.current < REPEAT_INTERVAL_MS;

  /** Shows a form, and a toast with the text. */
  function show(form: FormState, text?: string, isError = true) {
    const value = fieldValue(form);
    if (refs.input.current && value !== typed()) refs.input.current.value = value;
    dismissToast();
    const title = isError ? COPY.ERROR_TITLE : COPY.JOINED_TITLE;
    const variant = isError ? "destructive" : "default";
    const isUnheard = text !== undefined && !showToast({ title, text, variant });
    update({
      form,
      isPending: false,
      announcement: isUnheard ? text : "",
      isAnnounced: ["invalid", "failed"].includes(form.outcome),
    });
  }

  async function send(submission: Submission) {
    // The field shows what was sent: the code, without the sentence around it.
    const { email, code } = submission;
    const sent = { ...form, email, code };
    isSending.current = true;
    dismissToast();
    flushSync(() => update({ form: pristine(form, settings), isPending: true, announcement: "" }));
    // The disabled controls lose the focus. The button shows where it is.
    if (hasFocus(refs.form.current)) {
      refs.status.current?.focus({ preventScroll: true });
      keepInView(refs.button.current);
    }
    const after = await submit(submission, sent, settings);
    isSending.current = false;
    const active = hasFocus(refs.form.current) ? null : document.activeElement;
    const wasInView = isInView(refs.form.current);
    flushSync(() => {
      show(after.form, after.text, after.isError);
      // The visitor must learn that a code is needed. A field with a code is not new.
      const news = after.form.code === "" ? after.form.lead : "";
      if (active)
        setView((now) => ({ ...now, isAnnounced: false, announcement: now.announcement || news }));
    });
    // The next step may be higher, and push the element away.
    if (active && wasInView) keepInView(active);
    if (!active) focusIn(refs.form.current, nextControl(after.form), wasInView);
    respondedAt.current = performance.now();
    if (after.isError) return;
    // After an error, that of the last success stays: nobody gets the link a second time.
    update({ invitation: after.invitation });
    onSuccess();
  }

  /** If nothing is left to type, the focus is not in the field: it would open a phone's keyboard over the toast. */
  function nextControl({ step, outcome }: FormState) {
    if (outcome !== "joined") return refs.input.current;
    return step === "email" ? refs.button.current : refs.otherAddress.current;
  }

  function onSubmit(event: FormEvent) {
    // A bot: the browser posts the form as without JavaScript, and the server handles it.
    if (refs.honeypot.current?.value) return;
    event.preventDefault();
    // The same code again would cost another try.
    const isWrongCode = form.step === "code" && form.outcome === "invalid";
    if (isSending.current || (isWrongCode && isRepeated())) return;
    const content = { ...form, [form.step]: typed() };
    const read = readSubmission(content);
    if (typeof read !== "string") return void send(read);
    if (typed() === "" && isRepeated()) return;
    flushSync(() => show({ ...content, outcome: "invalid", message: read }, read));
    focusIn(refs.form.current, refs.input.current);
  }

  function onInput() {
    respondedAt.current = -REPEAT_INTERVAL_MS;
    // The browser would reject an address with an invisible character, which nobody can find.
    const visible = trimInvisible(typed());
    if (refs.input.current && form.step === "email" && visible !== typed())
      refs.input.current.value = visible;
    // Password managers dispatch input events that change nothing.
    if (typed() !== fieldValue(form)) update({ form: pristine(form, settings), announcement: "" });
  }

  /** Before the browser checks the address. Enter in the field presses the button too. */
  function onPress() {
    const { current: input } = refs.input;
    if (input && form.step === "email" && !input.validity.valid)
      input.value = withAsciiDomain(input.value);
  }

  /** Shows why the browser rejects the address: the browser's own bubble soon disappears. */
  function onInvalid() {
    show({ ...form, email: typed(), outcome: "invalid", message: COPY.INVALID_EMAIL });
  }

  function returnToEmail(event: MouseEvent) {
    // In a new tab or window, the link opens the first step.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (isSending.current || (typed() === "" && isRepeated())) return;
    flushSync(() => show(emailForm(settings, form.email)));
    focusIn(refs.form.current, refs.input.current);
  }

  /** A held key submits once. */
  function onKeyDown(event: KeyboardEvent) {
    if (event.repeat && event.key === "Enter") event.preventDefault();
  }

  const onBlur = () => update({ isAnnounced: false });
  return { ...view, refs, onSubmit, onKeyDown, onInput, onPress, onInvalid, onBlur, returnToEmail };
}

/** Returns the content of the field. */
export const fieldValue = ({ step, email, code }: FormState) => (step === "code" ? code : email);

/** Returns what a submit sends, or why there is nothing to send. */
function readSubmission({ step, email, code }: FormState): Submission | string {
  if (step === "email") {
    const address = trimInvisible(email);
    return address === "" ? COPY.EMPTY_EMAIL : { step, email: address, code };
  }
  if (trimInvisible(code) === "") return COPY.EMPTY_CODE;
  const digits = readCode(code);
  return digits === undefined ? COPY.MALFORMED_CODE : { step, email, code: digits };
}
