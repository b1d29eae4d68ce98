/**
 * The form and the count line (spec §4, §5, §8). Before hydration, and without JavaScript, the browser posts
 * the form to `/`. Its action is only an anchor, which keeps the query of the page's URL.
 */
import { QueryClientProvider, useMutation } from "@tanstack/react-query";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { hasStatus, queryClient, request } from "../api-client";
import { COPY } from "../bindings/copy";
import type { SignUpBody, WaitlistFormProps } from "../bindings/wire";
import { showToast } from "../toast-store";
import { useNumberInText, useTemporaryText } from "../translatable-text";
import { CodeForm } from "./code-form";
import { countState, useWaitlistCount } from "./use-waitlist-count";

export { hydrate } from "../hydrate";

const WAITLIST_URL = "/api/waitlist";
/** Longest wait for the response to a sign-up, in milliseconds. */
const SIGN_UP_TIMEOUT_MS = 60_000;
/** An empty submit within this time after a success, in milliseconds, is a double click or a held key. */
const REPEAT_INTERVAL_MS = 1000;

/** The outcome of the last submit, and the message below the field. */
type Feedback = Pick<WaitlistFormProps, "outcome" | "invalid" | "message">;

export default function WaitlistForm(props: WaitlistFormProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <Form {...props} />
    </QueryClientProvider>
  );
}

function Form(props: WaitlistFormProps) {
  const { product, email, count, count_from, count_state, confirms, ...initial } = props;
  const form = useRef<HTMLFormElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const honeypot = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const label = useRef<HTMLSpanElement>(null);
  const message = useRef<HTMLParagraphElement>(null);
  const countLine = useRef<HTMLParagraphElement>(null);
  // The field's value when the feedback was shown.
  const valueAtFeedback = useRef(email);
  // The time of the last success, or 0 once the visitor has typed.
  const joinedAt = useRef(0);
  const fieldId = useId();
  const messageId = useId();
  const waitlistCount = useWaitlistCount(form, count);
  // Stays until the field's value changes.
  const [feedback, setFeedback] = useState<Feedback>(initial);
  // Read by screen readers when there is no toaster to announce the outcome.
  const [announcement, setAnnouncement] = useState("");
  // The address that a code was sent to, if the owner asks for codes.
  const [codeFor, setCodeFor] = useState("");
  const signUp = useMutation({
    // The response body is not used, but parsing it rejects a proxy's HTML page.
    mutationFn: async (body: SignUpBody): Promise<unknown> => {
      const topic = honeypot.current?.value;
      // Safari 15 lacks `AbortSignal.timeout`.
      const signal = AbortSignal.timeout?.(SIGN_UP_TIMEOUT_MS) ?? null;
      // Posted like the form without JavaScript: that route handles bots.
      if (topic) {
        const formBody = new URLSearchParams({ ...body, topic });
        return fetch("/", { method: "POST", body: formBody, signal });
      }
      return (await request("POST", WAITLIST_URL, body, signal)).json();
    },
    onSuccess: (_, body) => {
      if (confirms) setCodeFor(body.email);
      if (input.current) input.current.value = "";
      joinedAt.current = Date.now();
      showFeedback("joined", withProduct(COPY.JOINED));
      void waitlistCount.refresh();
    },
    onError: (error, body) => {
      // Joining again sends another code.
      if (confirms && hasStatus(error, 409)) setCodeFor(body.email);
      showFeedback(hasStatus(error, 400) ? "invalid" : "failed", errorMessage(error));
    },
  });
  const withProduct = (text: string) => text.replace("{product}", () => product);

  /** Shows the outcome below the field and as a toast. */
  function showFeedback(outcome: "joined" | "invalid" | "failed", text: string) {
    const joined = outcome === "joined";
    valueAtFeedback.current = input.current?.value ?? "";
    setFeedback({ outcome, invalid: outcome === "invalid", message: text });
    showToast(
      {
        title: joined ? COPY.JOINED_TITLE : COPY.ERROR_TITLE,
        text,
        variant: joined ? "default" : "destructive",
      },
      () => setAnnouncement(text),
    );
  }

  /** Shows why the browser rejects the address: the browser's own bubble soon disappears. */
  function showInvalidEmail() {
    valueAtFeedback.current = input.current?.value ?? "";
    setFeedback({ outcome: "invalid", invalid: true, message: COPY.INVALID_EMAIL });
  }

  function resetFeedback() {
    setFeedback({ outcome: "", invalid: false, message: withProduct(COPY.PROMISE) });
    setAnnouncement("");
  }

  const { status, error, isPending } = signUp;
  useTemporaryText(label, isPending ? COPY.SUBMITTING : undefined);
  useTemporaryText(message, feedback.message === initial.message ? undefined : feedback.message);
  useNumberInText(countLine, waitlistCount.count);
  // Disabling the controls removed the focus. After a failure it goes to the field. After a success it goes
  // to the button: in the field it would open a phone's keyboard over the toast.
  useEffect(() => {
    const active = document.activeElement;
    // In Safari a clicked button does not take the focus: an ancestor of the form has it.
    const hasMovedOn = !active?.contains(form.current) && !form.current?.contains(active);
    if (hasMovedOn) return;
    if (status === "error") focusField();
    if (status === "success") button.current?.focus({ preventScroll: true });
    // `error` differs for each failure, even if two failures follow each other in one render.
  }, [status, error]);

  // After a native post the URL itself says "joined". Without this, a shared link would say it to others. The rest
  // of the URL stays: it may say where the visitor comes from.
  useEffect(() => {
    if (initial.outcome !== "joined") return;
    const url = new URL(location.href);
    url.searchParams.delete("joined");
    history.replaceState(null, "", url);
  }, [initial.outcome]);

  function focusField() {
    const field = input.current;
    field?.focus({ preventScroll: true });
    // Keeps the field clear of the toast. A visitor who has scrolled away is not pulled back.
    if (field && form.current && isInView(form.current)) field.scrollIntoView({ block: "nearest" });
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    const email = input.current?.value.trim() ?? "";
    // A double click or a held key submits again after the success has emptied the field.
    if (email === "" && Date.now() - joinedAt.current < REPEAT_INTERVAL_MS) {
      joinedAt.current = Date.now();
      return;
    }
    if (email === "") {
      showFeedback("invalid", COPY.EMPTY_EMAIL);
      focusField();
      return;
    }
    // Not `isPending`: it is as old as the last render, and two submits can come before the next one.
    if (queryClient.isMutating() > 0) return;
    resetFeedback();
    signUp.mutate({ email });
  }

  return (
    <>
      <form
        ref={form}
        className="waitlist"
        method="post"
        action="#waitlist"
        onSubmit={submit}
        onInput={() => {
          joinedAt.current = 0;
          // Password managers dispatch input events that change nothing.
          if (input.current?.value !== valueAtFeedback.current) resetFeedback();
        }}
        aria-busy={isPending}
        data-outcome={feedback.outcome}
      >
        <label htmlFor={fieldId} suppressHydrationWarning>
          {COPY.EMAIL_LABEL}
        </label>
        {/* Uncontrolled: hydration keeps the text that the visitor has already typed. */}
        <input
          ref={input}
          id={fieldId}
          type="email"
          name="email"
          autoComplete="email"
          inputMode="email"
          placeholder={COPY.EMAIL_PLACEHOLDER}
          defaultValue={email}
          disabled={isPending}
          aria-invalid={feedback.invalid}
          aria-describedby={messageId}
          onInvalid={showInvalidEmail}
        />
        <p ref={message} id={messageId} className="waitlist-message" suppressHydrationWarning>
          {initial.message}
        </p>
        {/* A honeypot: people do not see it, and browsers do not autofill a field of this name. Bots fill in
          every field. The server reports success to them and stores nothing. */}
        <label hidden>
          <span suppressHydrationWarning>{COPY.LEAVE_EMPTY}</span>
          <input ref={honeypot} type="text" name="topic" tabIndex={-1} autoComplete="off" />
        </label>
        <button ref={button} type="submit" className="button" disabled={isPending}>
          <span ref={label} suppressHydrationWarning>
            {COPY.SUBMIT}
          </span>
        </button>
        <p className="visually-hidden" role="status">
          {isPending ? COPY.SUBMITTING : announcement}
        </p>
        <p
          ref={countLine}
          className="waitlist-count"
          data-state={
            waitlistCount.isLoaded ? countState(waitlistCount.count, count_from) : count_state
          }
          aria-live="polite"
          aria-atomic="true"
          suppressHydrationWarning
        >
          {`${count} ${COPY.COUNT}`}
        </p>
      </form>
      {codeFor !== "" && <CodeForm key={codeFor} email={codeFor} />}
    </>
  );
}

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** Returns the toast's text for a failed sign-up (spec §8). */
function errorMessage(error: unknown): string {
  if (hasStatus(error, 409)) return COPY.ALREADY_LISTED;
  if (hasStatus(error, 400)) return COPY.INVALID_EMAIL;
  return COPY.FAILED;
}
