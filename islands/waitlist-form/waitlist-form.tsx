/** The form and the count line (spec §4, §5, §8). Before it is hydrated, and without JavaScript,
 * the form posts itself to `/`. */
import { QueryClientProvider, useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useCallback, useEffect, useId, useRef, useState } from "react";
import { COPY } from "../bindings/copy";
import type { Count, CountState, Entry, WaitlistFormProps } from "../bindings/wire";
import { hasStatus, queryClient, request } from "../query";
import { toast } from "../toast-store";
import { useNumber, useTemporaryText } from "../translation";
import { useSectionInView } from "../visible";

export { mount } from "../mount";

const WAITLIST = "/api/waitlist";
const COUNT = [WAITLIST, "count"];
/** Longest wait for the answer to a sign-up, in milliseconds. */
const TIMEOUT = 60_000;
/** An empty submit this soon after a success repeats the same click or key, in milliseconds. */
const REPEAT = 1000;

/** The outcome of the last submit, and the message below the field. */
type Reply = Pick<WaitlistFormProps, "outcome" | "invalid" | "message">;

export default function WaitlistForm(props: WaitlistFormProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <Form {...props} />
    </QueryClientProvider>
  );
}

function Form({ product, email, count, count_from, count_state, ...initial }: WaitlistFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const honeypot = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const label = useRef<HTMLSpanElement>(null);
  const message = useRef<HTMLParagraphElement>(null);
  const line = useRef<HTMLParagraphElement>(null);
  // The field's value when the reply was shown.
  const judged = useRef(email);
  // When this visitor last joined, until something is typed.
  const joinedAt = useRef(0);
  const fieldId = useId();
  const messageId = useId();
  const waitlistCount = useWaitlistCount(form, count);
  // Until something else is typed.
  const [reply, setReply] = useState<Reply>(initial);
  // For screen readers, when no toaster can announce the outcome.
  const [announcement, setAnnouncement] = useState("");
  const signUp = useMutation({
    // The body is not used, but parsing it rejects a proxy's HTML.
    mutationFn: async (entry: Entry): Promise<unknown> => {
      const topic = honeypot.current?.value;
      // Safari 15 has none.
      const signal = AbortSignal.timeout?.(TIMEOUT) ?? null;
      // Posted like the form without JavaScript: the server handles bots there.
      if (topic) {
        const body = new URLSearchParams({ ...entry, topic });
        return fetch("/", { method: "POST", body, signal });
      }
      return (await request("POST", WAITLIST, entry, signal)).json();
    },
    onSuccess: () => {
      if (input.current) input.current.value = "";
      joinedAt.current = Date.now();
      showOutcome("joined", fill(COPY.JOINED));
      void waitlistCount.refresh();
    },
    onError: (error) => showOutcome(hasStatus(error, 400) ? "invalid" : "failed", failure(error)),
  });
  const fill = (text: string) => text.replace("{product}", () => product);

  /** Shows the outcome below the field and as a toast. */
  function showOutcome(outcome: "joined" | "invalid" | "failed", text: string) {
    const joined = outcome === "joined";
    judged.current = input.current?.value ?? "";
    setReply({ outcome, invalid: outcome === "invalid", message: text });
    toast(
      {
        title: joined ? COPY.JOINED_TITLE : COPY.ERROR_TITLE,
        text,
        variant: joined ? "default" : "destructive",
      },
      () => setAnnouncement(text),
    );
  }

  /** Shows the reason when the browser rejects the address: its own bubble soon disappears. */
  function showInvalid() {
    judged.current = input.current?.value ?? "";
    setReply({ outcome: "invalid", invalid: true, message: COPY.INVALID_EMAIL });
  }

  function resetOutcome() {
    setReply({ outcome: "", invalid: false, message: fill(COPY.PROMISE) });
    setAnnouncement("");
  }

  const { status, error, isPending } = signUp;
  useTemporaryText(label, isPending ? COPY.SUBMITTING : undefined);
  useTemporaryText(message, reply.message === initial.message ? undefined : reply.message);
  useNumber(line, waitlistCount.count);
  // Disabling the controls has lost the focus. It goes to the field after a failure, and to the button
  // after a success: in the field it would open a phone's keyboard over the toast.
  useEffect(() => {
    const active = document.activeElement;
    // In Safari a button that is clicked takes no focus: an element around the form has it.
    const hasMovedOn = !active?.contains(form.current) && !form.current?.contains(active);
    if (hasMovedOn) return;
    if (status === "error") focusField();
    if (status === "success") button.current?.focus({ preventScroll: true });
    // Each failure is an error of its own, also when the second follows the first in one render.
  }, [status, error]);

  // After a native post the URL itself says "joined". A shared link must not say it to others.
  useEffect(() => {
    if (initial.outcome === "joined") history.replaceState(null, "", "/#waitlist");
  }, [initial.outcome]);

  function focusField() {
    const field = input.current;
    field?.focus({ preventScroll: true });
    // Clear of the toast. Somebody who has scrolled on is not pulled back.
    if (field && form.current && isInView(form.current)) field.scrollIntoView({ block: "nearest" });
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    const email = input.current?.value.trim() ?? "";
    // The second click of two, or a key held down: the first has joined and emptied the field.
    if (email === "" && Date.now() - joinedAt.current < REPEAT) {
      joinedAt.current = Date.now();
      return;
    }
    if (email === "") {
      showOutcome("invalid", COPY.EMPTY_EMAIL);
      focusField();
      return;
    }
    // Not `isPending`: that is of the last render, and two submits can come before the next.
    if (queryClient.isMutating() > 0) return;
    resetOutcome();
    signUp.mutate({ email });
  }

  return (
    <form
      ref={form}
      className="waitlist"
      method="post"
      action="/#waitlist"
      onSubmit={submit}
      onInput={() => {
        joinedAt.current = 0;
        // Password managers dispatch input events without a change.
        if (input.current?.value !== judged.current) resetOutcome();
      }}
      aria-busy={isPending}
      data-outcome={reply.outcome}
    >
      <label htmlFor={fieldId} suppressHydrationWarning>
        {COPY.EMAIL_LABEL}
      </label>
      {/* Uncontrolled: what was typed before hydration stays. */}
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
        aria-invalid={reply.invalid}
        aria-describedby={messageId}
        onInvalid={showInvalid}
      />
      <p ref={message} id={messageId} className="waitlist-message" suppressHydrationWarning>
        {initial.message}
      </p>
      {/* A honeypot: hidden from people, and named so that browsers fill in nothing. Bots fill in
          every field. The server tells them that they joined, and adds nobody. */}
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
        ref={line}
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
  );
}

/** The number of people on the list: the server's until the section shows, then asked for. */
function useWaitlistCount(form: React.RefObject<HTMLElement | null>, initial: number) {
  const [seen, setSeen] = useState(false);
  const onChange = useCallback((share: number) => setSeen((before) => before || share > 0), []);
  useSectionInView(form, onChange);
  const { data, refetch } = useQuery<Partial<Count>>({ queryKey: COUNT, enabled: seen });
  async function refresh() {
    // A read under way may have been counted too early, and `refetch` would settle for it.
    await queryClient.cancelQueries({ queryKey: COUNT });
    await refetch();
  }
  const count = data ? (data.count ?? 0) : initial;
  return { count, isLoaded: data !== undefined, refresh };
}

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** As in `wire.rs`. */
function countState(count: number, from: number): CountState {
  if (count < from) return "hidden";
  return count > 0 ? "live" : "empty";
}

/** Spec §8. */
function failure(error: unknown): string {
  if (hasStatus(error, 409)) return COPY.ALREADY_LISTED;
  if (hasStatus(error, 400)) return COPY.INVALID_EMAIL;
  return COPY.FAILED;
}
