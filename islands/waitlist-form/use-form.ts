/** What a submit of the form does (spec §4, §5), and the link back to its first step. */
import { type FormEvent, type MouseEvent, useRef } from "react";
import type { FormState } from "../bindings/wire";
import { dismissToast } from "../toast-store";
import * as COPY from "./copy.json";
import {
  emailForm,
  hasFailed,
  pristine,
  type Settings,
  type Submission,
  submit,
} from "./submission";
import { readCode, trimInvisible } from "./typed";
import { focusIn, useFocus, useRefs } from "./use-focus";
import { useUsualTitle } from "./use-usual-title";
import { useView } from "./use-view";

export type FormControls = ReturnType<typeof useForm>;

/** `initial` is what the server's page shows. `onSuccess` is called after each submit that succeeds. */
export function useForm(settings: Settings, initial: FormState, onSuccess: () => void) {
  const refs = useRefs();
  const { view, update, announce, show, onInput, isRepeat } = useView(
    settings,
    initial,
    refs.input,
  );
  const { form } = view;
  // Not `isPending`: it is as old as the last render, and two submits can come before the next one.
  const isSending = useRef(false);
  useFocus(refs, view, update, announce);
  useUsualTitle(form);

  /** Returns the form with the content of its field. */
  const typedForm = () => ({ ...form, [form.step]: refs.input.current?.value });

  const invalid = (message: string): FormState => ({ ...typedForm(), outcome: "invalid", message });

  async function send(submission: Submission) {
    // The field shows what was sent: the code, without the sentence around it.
    const { email, code } = submission;
    const sent = { ...form, email, code };
    isSending.current = true;
    dismissToast();
    update({ form: pristine(form, settings), isPending: true, announcement: "" });
    const [after, text] = await submit(submission, sent, settings);
    isSending.current = false;
    show(after, text);
    if (!hasFailed(after)) onSuccess();
  }

  function onSubmit(event: FormEvent) {
    event.preventDefault();
    if (isSending.current) return;
    const read = readSubmission(typedForm(), refs.honeypot.current?.value);
    if (typeof read !== "string") return void send(read);
    if (refs.input.current?.value === "" && isRepeat()) return;
    show(invalid(read), read);
    focusIn(refs.form, refs.input);
  }

  function returnToEmail(event: MouseEvent) {
    event.preventDefault();
    if (isSending.current) return;
    show(emailForm(settings, form.email));
    focusIn(refs.form, refs.input);
  }

  /** Shows why the browser rejects the address: the browser's own bubble soon disappears. */
  const onInvalid = () => show(invalid(COPY.INVALID_EMAIL));
  const onBlur = () => update({ isAnnounced: false });
  return { ...view, refs, onSubmit, onInput, onInvalid, onBlur, returnToEmail };
}

/** Returns what a submit sends, or why there is nothing to send. */
function readSubmission({ step, email, code }: FormState, topic = ""): Submission | string {
  if (step === "email") {
    const address = trimInvisible(email);
    return address === "" ? COPY.EMPTY_EMAIL : { step, email: address, code, topic };
  }
  if (trimInvisible(code) === "") return COPY.EMPTY_CODE;
  const digits = readCode(code);
  return digits === undefined ? COPY.MALFORMED_CODE : { step, email, code: digits };
}
