/** The form and the count line (spec §4, §5, §8). Before it is hydrated, and without JavaScript,
 * the form posts itself to `/`. */
import { QueryClientProvider, useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useCallback, useEffect, useId, useRef, useState } from "react";
import { COPY } from "../bindings/copy";
import type { Count, Entry, WaitlistFormProps } from "../bindings/wire";
import { hasStatus, queryClient, request } from "../query";
import { toast } from "../toast-store";
import { useSectionInView } from "../visible";

export { mount } from "../mount";

const WAITLIST = "/api/waitlist";
const COUNT = [WAITLIST, "count"];

export default function WaitlistForm(props: WaitlistFormProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <Form {...props} />
    </QueryClientProvider>
  );
}

function Form({ product, count, email }: WaitlistFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const trap = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const people = usePeople(form, count);
  // What became of the last try, until something else is typed.
  const [outcome, setOutcome] = useState<"joined" | "invalid">();
  const signUp = useMutation({
    // Nothing in the answer is used, but what is not JSON is not an answer of the API.
    mutationFn: async (entry: Entry): Promise<unknown> => {
      const topic = trap.current?.value;
      // The server's own form takes care of such.
      if (topic)
        return fetch("/", { method: "POST", body: new URLSearchParams({ ...entry, topic }) });
      return (await request("POST", WAITLIST, entry)).json();
    },
    onSuccess: () => {
      if (input.current) input.current.value = "";
      setOutcome("joined");
      const text = COPY.JOINED.replace("{product}", () => product);
      toast({ title: COPY.JOINED_TITLE, text, variant: "default" });
      void people.refresh();
    },
    onError: (error) => {
      if (hasStatus(error, 400)) setOutcome("invalid");
      fail(failure(error));
    },
  });

  // What was disabled has lost the focus. It goes to the field after a failure, and after a success
  // to the button: in the field it would open a phone's keyboard over the toast.
  const { status, error, isPending } = signUp;
  useEffect(() => {
    const active = document.activeElement;
    const hasMovedOn = active !== document.body && !form.current?.contains(active);
    if (hasMovedOn) return;
    // Who has scrolled on meanwhile is not pulled back.
    if (status === "error") input.current?.focus({ preventScroll: true });
    if (status === "success") button.current?.focus({ preventScroll: true });
    // Each failure is an error of its own, also when the second follows the first in one render.
  }, [status, error]);

  function submit(event: FormEvent) {
    event.preventDefault();
    // What the server said about an earlier try, without JavaScript, is out of date.
    form.current?.closest("section")?.querySelector(".reply")?.remove();
    const email = input.current?.value.trim() ?? "";
    if (email === "") {
      setOutcome("invalid");
      fail(COPY.EMPTY_EMAIL);
      input.current?.focus();
      return;
    }
    // Not `isPending`: that is of the last render, and two submits can come before the next.
    if (queryClient.isMutating() > 0) return;
    setOutcome(undefined);
    signUp.mutate({ email });
  }

  return (
    <form
      ref={form}
      className="waitlist"
      method="post"
      action="/#contact"
      onSubmit={submit}
      onInput={() => setOutcome(undefined)}
      aria-busy={isPending}
      data-outcome={outcome}
    >
      <label htmlFor={id}>{COPY.EMAIL_LABEL}</label>
      {/* Uncontrolled: what was typed before hydration stays. */}
      <input
        ref={input}
        id={id}
        type="email"
        name="email"
        autoComplete="email"
        inputMode="email"
        placeholder={COPY.EMAIL_PLACEHOLDER}
        defaultValue={email}
        disabled={isPending}
        aria-invalid={outcome === "invalid" || undefined}
      />
      {/* People neither see it nor come to it, and browsers know nothing to fill in (an address or
          a name they would). What fills in every field of a form is no person: the server tells it
          that it has joined. */}
      <label hidden>
        {COPY.LEAVE_EMPTY}
        <input ref={trap} type="text" name="topic" tabIndex={-1} autoComplete="off" />
      </label>
      {/* The label holds the button's width while it says something shorter. */}
      <button
        ref={button}
        type="submit"
        className="button"
        disabled={isPending}
        data-label={COPY.SUBMIT}
      >
        {isPending ? COPY.SUBMITTING : COPY.SUBMIT}
      </button>
      <p className="waitlist-count" aria-live="polite" aria-atomic="true">
        {`${people.count} ${COPY.COUNT}`}
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
  return { count: data ? (data.count ?? 0) : initial, refresh };
}

/** Spec §8. */
function failure(error: unknown): string {
  if (hasStatus(error, 409)) return COPY.ALREADY_LISTED;
  if (hasStatus(error, 400)) return COPY.INVALID_EMAIL;
  return COPY.FAILED;
}

function fail(text: string) {
  toast({ title: COPY.ERROR_TITLE, text, variant: "destructive" });
}
