/** The properties that the markup is rendered with: each step with each outcome. Texts are placeholders. */
import type { FormOutcome, FormStep, WaitlistFormProps } from "../bindings/wire";

/** Returns all members of a type, which the compiler compares. */
const all = <T extends string>(members: Record<T, true>) => Object.keys(members) as T[];

const STEPS = all<FormStep>({ email: true, code: true });
const OUTCOMES = all<FormOutcome>({ "": true, joined: true, invalid: true, failed: true });

export const VARIANTS: WaitlistFormProps[] = STEPS.flatMap((step) =>
  OUTCOMES.map((outcome) => ({
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
