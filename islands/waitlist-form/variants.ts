/** The properties that the markup is rendered with: each step with each outcome. Texts are placeholders. */
import type { FormOutcome, FormStep, WaitlistFormProps } from "../bindings/wire";

const STEPS: FormStep[] = ["email", "code"];
const OUTCOMES: FormOutcome[] = ["", "joined", "invalid", "failed"];

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
