/** The form for the code that confirms the address. It appears when a visitor has joined, if the owner asks for codes. */
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useId, useRef } from "react";
import { hasStatus, queryClient, request } from "../api-client";
import { COPY } from "../bindings/copy";

const CONFIRM_URL = "/api/waitlist/confirm";
/** Longest wait for the response, in milliseconds. */
const CONFIRM_TIMEOUT_MS = 60_000;

/** Asks for the code that was sent to `email`. */
export function CodeForm({ email }: { email: string }) {
  const input = useRef<HTMLInputElement>(null);
  const fieldId = useId();
  const messageId = useId();
  const confirm = useMutation({
    mutationFn: async (code: string): Promise<unknown> => {
      // Safari 15 lacks `AbortSignal.timeout`.
      const signal = AbortSignal.timeout?.(CONFIRM_TIMEOUT_MS) ?? null;
      return (await request("POST", CONFIRM_URL, { email, code }, signal)).json();
    },
    // Disabling the field removed the focus.
    onError: () => setTimeout(() => input.current?.focus({ preventScroll: true })),
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    if (queryClient.isMutating() === 0) confirm.mutate(input.current?.value ?? "");
  }

  const { isSuccess, isPending, error } = confirm;
  return (
    <form className="code" method="post" action="/confirm" onSubmit={submit} aria-busy={isPending}>
      {!isSuccess && (
        <>
          <label htmlFor={fieldId}>{COPY.CODE_LABEL}</label>
          <input
            ref={input}
            id={fieldId}
            name="code"
            type="text"
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={12}
            required
            disabled={isPending}
            aria-invalid={error !== null}
            aria-describedby={messageId}
          />
          <button type="submit" className="button" disabled={isPending}>
            {COPY.CODE_SUBMIT}
          </button>
        </>
      )}
      <p id={messageId} role="status" data-outcome={isSuccess ? "joined" : error ? "failed" : ""}>
        {isSuccess ? COPY.CONFIRMED : error ? errorMessage(error) : ""}
      </p>
    </form>
  );
}

function errorMessage(error: Error): string {
  return hasStatus(error, 400) ? COPY.WRONG_CODE : COPY.CODE_FAILED;
}
