/**
 * The form and the count line (spec §4, §5, §8). It has two steps: the address, and if the owner asks people to confirm
 * it, the code that was sent to it. Before hydration, and without JavaScript, the browser posts the form.
 *
 * Both steps are the same elements with other attributes and texts. So nothing is inserted or removed beside the
 * elements that password managers and translators have added.
 */
import { type FunctionComponent, lazy, Suspense, useId } from "react";
import type { FormState, WaitlistFormProps } from "../bindings/wire";
import type { InvitationPanelProps } from "../invitation/panel";
import * as COPY from "./copy.json";
import { useCountLine } from "./use-count-line";
import { fieldValue, type FormControls, useForm } from "./use-form";

export { hydrate } from "../hydrate";

/** Only for sites that show invitations. If it cannot be loaded, the link is shown: nobody gets it a second time. */
const InvitationPanel = lazy<FunctionComponent<InvitationPanelProps>>(() =>
  import("../invitation/panel").catch(() => ({
    default: ({ label, link }) => <p className="note">{`${label}: ${link}`}</p>,
  })),
);

/** What the steps differ in. */
const STEPS = {
  email: {
    label: COPY.EMAIL_LABEL,
    submit: COPY.SUBMIT,
    submitting: COPY.SUBMITTING,
    field: {
      type: "email",
      name: "email",
      autoComplete: "email",
      placeholder: COPY.EMAIL_PLACEHOLDER,
    },
  },
  code: {
    label: COPY.CODE_LABEL,
    submit: COPY.CODE_SUBMIT,
    submitting: COPY.CODE_SUBMITTING,
    field: { type: "text", name: "code", autoComplete: "one-time-code", inputMode: "numeric" },
  },
} as const;

export default function WaitlistForm(props: WaitlistFormProps) {
  const { product, action, confirms, count_from, count_line, ...initial } = props;
  const count = useCountLine(count_line, count_from);
  const controls = useForm({ product, confirms }, initial, () => void count.refresh());
  const { form, refs, isPending, announcement, invitation } = controls;
  return (
    <>
      <form
        ref={refs.form}
        className="waitlist"
        method="post"
        action={action}
        onSubmit={controls.onSubmit}
        onKeyDown={controls.onKeyDown}
        onInput={controls.onInput}
        data-step={form.step}
        data-outcome={form.outcome}
      >
        <Field controls={controls} initial={initial} />
        {/* A honeypot: people do not see it, and browsers do not autofill a field of this name. Bots fill in
            every field. The server reports success to them and stores nothing. */}
        <label hidden>
          <span suppressHydrationWarning>{COPY.LEAVE_EMPTY}</span>
          <input ref={refs.honeypot} type="text" name="topic" tabIndex={-1} autoComplete="off" />
        </label>
        <SubmitButton controls={controls} />
        <p ref={refs.status} className="visually-hidden" role="status" tabIndex={-1}>
          {isPending ? STEPS[form.step].submitting : announcement}
        </p>
        <p className="other" hidden={form.step === "email"}>
          {/* Without JavaScript, the query makes the browser load the page, and not only scroll. */}
          <a
            ref={refs.otherAddress}
            href="/?email#waitlist"
            onClick={controls.returnToEmail}
            suppressHydrationWarning
          >
            {COPY.OTHER_ADDRESS}
          </a>
        </p>
        <p ref={count.ref} className="waitlist-count" suppressHydrationWarning>
          {count.line}
        </p>
      </form>
      {invitation && (
        <Suspense>
          <InvitationPanel key={invitation.link} label={COPY.INVITE_LINK} {...invitation} />
        </Suspense>
      )}
    </>
  );
}

/** The field with its label, and the texts above and below it. */
function Field({ controls, initial }: { controls: FormControls; initial: FormState }) {
  const { form, refs } = controls;
  const { label, field } = STEPS[form.step];
  const isCode = form.step === "code";
  const fieldId = useId();
  const leadId = useId();
  const messageId = useId();
  const descriptions = [isCode && leadId, !controls.isAnnounced && messageId];
  return (
    <>
      <p id={isCode ? leadId : undefined} className="waitlist-lead" suppressHydrationWarning>
        {form.lead}
      </p>
      <label htmlFor={fieldId} suppressHydrationWarning>
        {label}
      </label>
      {/* Uncontrolled: hydration keeps the text that the visitor has already typed. */}
      <input
        ref={refs.input}
        id={fieldId}
        {...field}
        defaultValue={fieldValue(initial)}
        disabled={controls.isPending}
        aria-required
        aria-invalid={form.outcome === "invalid"}
        aria-describedby={descriptions.filter(Boolean).join(" ") || undefined}
        onBlur={controls.onBlur}
        onInvalid={controls.onInvalid}
      />
      {/* Only for the form without JavaScript. */}
      <input type="hidden" name={isCode ? "email" : undefined} value={initial.email} />
      <p id={messageId} className="waitlist-message" suppressHydrationWarning>
        {form.message}
      </p>
    </>
  );
}

function SubmitButton({ controls }: { controls: FormControls }) {
  const { form, isPending, refs } = controls;
  const { submit, submitting } = STEPS[form.step];
  const label = isPending ? submitting : submit;
  return (
    // The style keeps the button as wide as its usual label.
    <button
      ref={refs.button}
      type="submit"
      className="button"
      onClick={controls.onPress}
      disabled={isPending}
      aria-busy={isPending || undefined}
      data-label={submit}
    >
      {/* A new element, not a text that moves because the other one is longer. */}
      <span key={label} suppressHydrationWarning>
        {label}
      </span>
    </button>
  );
}
