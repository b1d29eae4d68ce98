/**
 * The form and the count line (spec §4, §5, §8). It has two steps: the address, and if the owner asks people to confirm
 * it, the code that was sent to it. Before hydration, and without JavaScript, the browser posts the form.
 *
 * Both steps are the same elements with other attributes and texts. So nothing is inserted or removed beside the
 * elements that password managers and translators have added.
 */
import { QueryClientProvider, useMutation } from "@tanstack/react-query";
import { type FormEvent, type MouseEvent, useEffect, useId, useRef, useState } from "react";
import { hasStatus, queryClient } from "../api-client";
import type { FormOutcome, FormState, WaitlistFormProps } from "../bindings/wire";
import * as COPY from "./copy.json";
import { dismissToasts, showToast } from "../toast-store";
import { failure, send } from "./submission";
import { useCountLine } from "./use-count-line";

export { hydrate } from "../hydrate";

/** An empty submit within this time after a success, in milliseconds, is a double click or a held key. */
const REPEAT_INTERVAL_MS = 1000;
/** White space and invisible characters at the ends of a text. People copy them from messages and pages. */
const INVISIBLE_ENDS = /^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu;

export default function WaitlistForm(props: WaitlistFormProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <Form {...props} />
    </QueryClientProvider>
  );
}

function Form(props: WaitlistFormProps) {
  const { product, action, confirms, count_from, count_line, ...initial } = props;
  const form = useRef<HTMLFormElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const honeypot = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const status = useRef<HTMLParagraphElement>(null);
  const lead = useRef<HTMLParagraphElement>(null);
  const countLine = useRef<HTMLParagraphElement>(null);
  // The field's value when the outcome was shown.
  const valueAtOutcome = useRef("");
  // The time of the last success, or 0 once the visitor has typed.
  const succeededAt = useRef(0);
  const fieldId = useId();
  const leadId = useId();
  const messageId = useId();
  const refreshCount = useCountLine(countLine, count_from);
  const [state, setState] = useState<FormState>(initial);
  // Read by screen readers when there is no toaster to announce the outcome.
  const [announcement, setAnnouncement] = useState("");
  // A toast announces an error. Until the focus leaves the field, the field's description does not repeat it.
  const [isAnnounced, setIsAnnounced] = useState(false);
  const isCode = state.step === "code";

  const submission = useMutation({
    mutationFn: send,
    onSuccess: (_, { email, code }) => {
      succeededAt.current = Date.now();
      setValue("");
      void refreshCount();
      const isConfirmed = code !== undefined;
      const message = withProduct(isConfirmed ? COPY.CONFIRMED : COPY.JOINED);
      announce("joined", message);
      if (confirms && !isConfirmed) showCodeStep(email, COPY.CODE_SENT, "", COPY.CODE_HINT);
      else show({ step: "email", lead: "", outcome: "joined", message });
    },
    onError: (error, body) => {
      const [outcome, message] = failure(error, body);
      announce(outcome, message);
      // Joining again sends another code.
      if (confirms && body.code === undefined && hasStatus(error, 409)) {
        setValue("");
        // A double click or a held key must not send the empty field.
        succeededAt.current = Date.now();
        showCodeStep(body.email, COPY.CODE_ASKED, outcome, message);
      } else show({ outcome, message });
    },
  });
  const { isPending, error } = submission;
  const withProduct = (text: string) => text.replace("{product}", () => product);

  /** Shows a change of the form. It stays until the field's value changes. */
  function show(change: Partial<FormState>) {
    valueAtOutcome.current = input.current?.value ?? "";
    setState((before) => ({ ...before, ...change }));
  }

  function showCodeStep(email: string, lead: string, outcome: FormOutcome, message: string) {
    show({
      step: "code",
      email,
      lead: lead.replace("{email}", () => email),
      outcome,
      message,
    });
  }

  function announce(outcome: FormOutcome, text: string) {
    const isError = outcome !== "joined";
    setIsAnnounced(isError);
    showToast(
      {
        title: isError ? COPY.ERROR_TITLE : COPY.JOINED_TITLE,
        text,
        variant: isError ? "destructive" : "default",
      },
      () => setAnnouncement(text),
    );
  }

  /** Shows why the browser rejects the address: the browser's own bubble soon disappears. */
  function showInvalidEmail() {
    dismissToasts();
    show({ outcome: "invalid", message: COPY.INVALID_EMAIL });
  }

  function resetOutcome() {
    const message = isCode ? COPY.CODE_HINT : withProduct(COPY.PROMISE);
    setState((before) => ({ ...before, outcome: "", message }));
    setAnnouncement("");
  }

  // The disabled controls lose the focus. It waits on the status, and returns afterwards: to the button if nothing is
  // left to type, because in the field it would open a phone's keyboard over the toast, otherwise to the field.
  useEffect(() => {
    const active = document.activeElement;
    // In Safari a clicked button does not take the focus: an ancestor of the form has it.
    const hasMovedOn = !active?.contains(form.current) && !form.current?.contains(active);
    if (hasMovedOn) {
      setIsAnnounced(false);
      // The visitor is elsewhere, and must learn that a code is needed.
      if (submission.status === "success" && input.current?.name === "code")
        setAnnouncement(lead.current?.textContent ?? "");
      return;
    }
    if (submission.status === "pending") status.current?.focus({ preventScroll: true });
    if (submission.status === "error") focus(input.current);
    const asksForCode = input.current?.name === "code";
    if (submission.status === "success") focus(asksForCode ? input.current : button.current);
    // `error` differs for each failure, even if two failures follow each other in one render.
  }, [submission.status, error]);

  // After a native post the URL itself says "joined". Without this, a shared link would say it to others. The rest
  // of the URL stays: it may say where the visitor comes from.
  useEffect(() => {
    if (initial.outcome !== "joined") return;
    const url = new URL(location.href);
    url.searchParams.delete("joined");
    history.replaceState(null, "", url);
  }, [initial.outcome]);

  /** Moves the focus, and keeps the element clear of the toast. A visitor who has scrolled away is not pulled back. */
  function focus(element: HTMLElement | null) {
    element?.focus({ preventScroll: true });
    if (form.current && isInView(form.current)) element?.scrollIntoView({ block: "nearest" });
  }

  function setValue(value: string) {
    if (input.current) input.current.value = value;
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    // Not `isPending`: it is as old as the last render, and two submits can come before the next one.
    if (queryClient.isMutating() > 0) return;
    const typed = input.current?.value.replaceAll(INVISIBLE_ENDS, "") ?? "";
    if (typed !== "") {
      dismissToasts();
      resetOutcome();
      const topic = honeypot.current?.value ?? "";
      submission.mutate(isCode ? { email: state.email, code: typed } : { email: typed, topic });
    } else if (Date.now() - succeededAt.current < REPEAT_INTERVAL_MS) {
      // A double click or a held key submits again after the success has emptied the field.
      succeededAt.current = Date.now();
    } else {
      const message = isCode ? COPY.EMPTY_CODE : COPY.EMPTY_EMAIL;
      announce("invalid", message);
      show({ outcome: "invalid", message });
      focus(input.current);
    }
  }

  function change() {
    succeededAt.current = 0;
    const value = input.current?.value ?? "";
    // The browser would reject an address with an invisible character, which nobody can find.
    const visible = value.replaceAll(INVISIBLE_ENDS, "");
    if (!isCode && visible !== value) setValue(visible);
    // Password managers dispatch input events that change nothing.
    if (value !== valueAtOutcome.current) resetOutcome();
  }

  function returnToAddress(event: MouseEvent) {
    event.preventDefault();
    if (isPending) return;
    dismissToasts();
    setValue(state.email);
    show({
      step: "email",
      lead: "",
      outcome: "",
      message: withProduct(COPY.PROMISE),
    });
    focus(input.current);
  }

  const submitLabel = isCode ? COPY.CODE_SUBMIT : COPY.SUBMIT;
  // The step changes a moment before the submit ends.
  const isCheckingCode = submission.variables?.code !== undefined;
  const pendingLabel = isCheckingCode ? COPY.CODE_SUBMITTING : COPY.SUBMITTING;
  const label = isPending ? pendingLabel : submitLabel;
  return (
    <form
      ref={form}
      className="waitlist"
      method="post"
      action={action}
      onSubmit={submit}
      onInput={change}
      data-step={state.step}
      data-outcome={state.outcome}
    >
      <p
        ref={lead}
        id={isCode ? leadId : undefined}
        className="waitlist-lead"
        suppressHydrationWarning
      >
        {state.lead}
      </p>
      <label htmlFor={fieldId} suppressHydrationWarning>
        {isCode ? COPY.CODE_LABEL : COPY.EMAIL_LABEL}
      </label>
      {/* Uncontrolled: hydration keeps the text that the visitor has already typed. */}
      <input
        ref={input}
        id={fieldId}
        {...(isCode ? CODE_FIELD : EMAIL_FIELD)}
        defaultValue={initial.step === "code" ? initial.code : initial.email}
        disabled={isPending}
        aria-required
        aria-invalid={state.outcome === "invalid"}
        aria-describedby={isAnnounced ? undefined : isCode ? `${leadId} ${messageId}` : messageId}
        onBlur={() => setIsAnnounced(false)}
        onInvalid={showInvalidEmail}
      />
      {/* Only for the form without JavaScript. */}
      <input type="hidden" name={isCode ? "email" : undefined} value={initial.email} />
      <p id={messageId} className="waitlist-message" suppressHydrationWarning>
        {state.message}
      </p>
      {/* A honeypot: people do not see it, and browsers do not autofill a field of this name. Bots fill in
          every field. The server reports success to them and stores nothing. */}
      <label hidden>
        <span suppressHydrationWarning>{COPY.LEAVE_EMPTY}</span>
        <input ref={honeypot} type="text" name="topic" tabIndex={-1} autoComplete="off" />
      </label>
      {/* The style keeps the button as wide as its usual label. */}
      <button
        ref={button}
        type="submit"
        className="button"
        disabled={isPending}
        aria-busy={isPending || undefined}
        data-label={submitLabel}
      >
        {/* A new element, not a text that moves because the other one is longer. */}
        <span key={label} suppressHydrationWarning>
          {label}
        </span>
      </button>
      <p ref={status} className="visually-hidden" role="status" tabIndex={-1}>
        {isPending ? pendingLabel : announcement}
      </p>
      <p className="waitlist-other" hidden={!isCode}>
        <a href="/#waitlist" onClick={returnToAddress} suppressHydrationWarning>
          {COPY.OTHER_ADDRESS}
        </a>
      </p>
      <p ref={countLine} className="waitlist-count" suppressHydrationWarning>
        {count_line}
      </p>
    </form>
  );
}

const EMAIL_FIELD = {
  type: "email",
  name: "email",
  autoComplete: "email",
  inputMode: "email",
  placeholder: COPY.EMAIL_PLACEHOLDER,
} as const;

const CODE_FIELD = {
  type: "text",
  name: "code",
  autoComplete: "one-time-code",
  inputMode: "numeric",
} as const;

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
