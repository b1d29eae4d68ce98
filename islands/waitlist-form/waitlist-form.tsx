/** The form and the count line (spec §4, §5, §8). Before it is hydrated, and without JavaScript,
 * the form posts itself to `/`. */
import { QueryClientProvider, useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useCallback, useEffect, useId, useRef, useState } from "react";
import { COPY } from "../bindings/copy";
import type { Count, CountState, Entry, WaitlistFormProps } from "../bindings/wire";
import { hasStatus, queryClient, request } from "../query";
import { toast } from "../toast-store";
import { useNumber, useOtherText } from "../translation";
import { useSectionInView } from "../visible";

export { mount } from "../mount";

const WAITLIST = "/api/waitlist";
const COUNT = [WAITLIST, "count"];
/** Longest wait for the answer to a sign-up, in milliseconds. */
const TIMEOUT = 60_000;

/** What became of the last try, and the words for it next to the field. */
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
  const trap = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const label = useRef<HTMLSpanElement>(null);
  const line = useRef<HTMLParagraphElement>(null);
  const fieldId = useId();
  const messageId = useId();
  const people = usePeople(form, count);
  // Until something else is typed.
  const [reply, setReply] = useState<Reply>(initial);
  // What a screen reader is told when no toast tells it.
  const [announcement, setAnnouncement] = useState("");
  const signUp = useMutation({
    // Nothing in the answer is used, but what is not JSON is not an answer of the API.
    mutationFn: async (entry: Entry): Promise<unknown> => {
      const topic = trap.current?.value;
      const signal = AbortSignal.timeout(TIMEOUT);
      // The server's own form takes care of such.
      if (topic) {
        const body = new URLSearchParams({ ...entry, topic });
        return fetch("/", { method: "POST", body, signal });
      }
      return (await request("POST", WAITLIST, entry, signal)).json();
    },
    onSuccess: () => {
      if (input.current) input.current.value = "";
      tell("joined", fill(COPY.JOINED));
      void people.refresh();
    },
    onError: (error) => tell(hasStatus(error, 400) ? "invalid" : "failed", failure(error)),
  });
  const fill = (text: string) => text.replace("{product}", () => product);

  /** Says next to the field and by toast what became of a try. */
  function tell(outcome: "joined" | "invalid" | "failed", text: string) {
    const joined = outcome === "joined";
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

  function forget() {
    setReply({ outcome: "", invalid: false, message: fill(COPY.PROMISE) });
    setAnnouncement("");
  }

  // What was disabled has lost the focus. It goes to the field after a failure, and after a success
  // to the button: in the field it would open a phone's keyboard over the toast.
  const { status, error, isPending } = signUp;
  useOtherText(label, isPending ? COPY.SUBMITTING : undefined);
  useNumber(line, people.count);
  useEffect(() => {
    const active = document.activeElement;
    // In Safari a button that is clicked takes no focus: an element around the form has it.
    const hasMovedOn = !active?.contains(form.current) && !form.current?.contains(active);
    if (hasMovedOn) return;
    if (status === "error") focusField();
    if (status === "success") button.current?.focus({ preventScroll: true });
    // Each failure is an error of its own, also when the second follows the first in one render.
  }, [status, error]);

  function focusField() {
    const field = input.current;
    field?.focus({ preventScroll: true });
    // Clear of the toast. Somebody who has scrolled on is not pulled back.
    if (field && isInView(field)) field.scrollIntoView({ block: "nearest" });
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    const email = input.current?.value.trim() ?? "";
    if (email === "") {
      tell("invalid", COPY.EMPTY_EMAIL);
      focusField();
      return;
    }
    // Not `isPending`: that is of the last render, and two submits can come before the next.
    if (queryClient.isMutating() > 0) return;
    forget();
    signUp.mutate({ email });
  }

  return (
    <form
      ref={form}
      className="waitlist"
      method="post"
      action="/#waitlist"
      onSubmit={submit}
      onInput={forget}
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
      />
      <p id={messageId} className="waitlist-message">
        {/* Another one for other words: nothing moves, something else is there. */}
        <span key={reply.message} suppressHydrationWarning>
          {reply.message}
        </span>
      </p>
      {/* People neither see it nor come to it, and browsers know nothing to fill in (an address or
          a name they would). What fills in every field of a form is no person: the server tells it
          that it has joined. */}
      <label hidden>
        <span suppressHydrationWarning>{COPY.LEAVE_EMPTY}</span>
        <input ref={trap} type="text" name="topic" tabIndex={-1} autoComplete="off" />
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
        data-state={people.isAsked ? countState(people.count, count_from) : count_state}
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
function usePeople(form: React.RefObject<HTMLElement | null>, initial: number) {
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
  return { count, isAsked: data !== undefined, refresh };
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
