/** The properties that the markup is rendered with: each step with each outcome. Texts are placeholders. */
import type { FormOutcome, FormStep, WaitlistFormProps } from "../bindings/wire";

// As keys, so that none can be missing.
const STEPS: Record<FormStep, true> = { email: true, code: true };
const OUTCOMES: Record<FormOutcome, true> = { "": true, joined: true, invalid: true, failed: true };

export const VARIANTS: WaitlistFormProps[] = keys(STEPS).flatMap((step) =>
  keys(OUTCOMES).map((outcome) => ({
    step,
    outcome,
    email: "{{email}}",
    code: "{{code}}",
    lead: "{{lead}}",
    message: "{{message}}",
    product: "{{product}}",
    action: "{{action}}",
    count_line: "{{count_line}}",
    count_from: 0,
    confirms: false,
  })),
);

function keys<K extends string>(object: Record<K, true>): K[] {
  return Object.keys(object) as K[];
}
