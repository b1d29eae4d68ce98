/** What a submit of the form sends, and what the form shows after the response (spec §7, §8). */
import { request, statusOf } from "../api-client";
import type {
  ConfirmBody,
  ConfirmedBody,
  FormOutcome,
  FormState,
  FormStep,
  Invitation,
  JoinedBody,
  SignUpBody,
  WaitlistFormProps,
} from "../bindings/wire";
import * as COPY from "./copy.json";

const SIGN_UP_URL = "/api/waitlist";
const CONFIRM_URL = "/api/waitlist/confirm";
/** Longest wait for a response, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** The content of a submit: an address, and in the second step the code that was sent to it. */
export type Submission = Pick<FormState, "step" | "email" | "code">;

/** What the owner has configured. */
export type Settings = Pick<WaitlistFormProps, "product" | "confirms">;

/** The form after a submit, and the text that a toast announces. */
export interface Result {
  readonly form: FormState;
  readonly text: string;
  readonly isError: boolean;
  /** The visitor's link to invite others, if the site shows it. */
  readonly invitation?: Invitation | undefined;
}

/** Returns the form that asks for an address, with this one in its field. */
export function emailForm({ product }: Settings, email = ""): FormState {
  const message = withProduct(COPY.PROMISE, product);
  return { step: "email", email, code: "", lead: "", outcome: "", message };
}

function codeForm(email: string, lead: string): FormState {
  lead = lead.replace("{email}", () => email);
  return { step: "code", email, code: "", lead, outcome: "", message: COPY.CODE_HINT };
}

/** Returns the form without an outcome. */
export function pristine(form: FormState, settings: Settings): FormState {
  const message = form.step === "code" ? COPY.CODE_HINT : emailForm(settings).message;
  return { ...form, outcome: "", message };
}

/** Sends `submission`. After a failure the form stays as `sent`. `src/server/form.rs` has the same rules. */
export async function submit(
  submission: Submission,
  sent: FormState,
  settings: Settings,
): Promise<Result> {
  const { step, email } = submission;
  const isSignUp = step === "email";
  let invitation: Invitation | undefined;
  try {
    ({ invitation } = await send(submission));
  } catch (error) {
    const status = statusOf(error);
    const [outcome, text] = FAILURES[step][status] ?? FAILURES[step].other;
    // Nothing is wrong: somebody comes back to enter the code.
    const asksForCode = settings.confirms && isSignUp && status === 409;
    const form = asksForCode
      ? codeForm(email, COPY.CODE_ASKED)
      : { ...sent, outcome, message: text };
    return { form, text, isError: true };
  }
  const text = withProduct(isSignUp ? COPY.JOINED : COPY.CONFIRMED, settings.product);
  const form =
    isSignUp && settings.confirms
      ? codeForm(email, COPY.CODE_SENT)
      : ({ ...emailForm(settings), step, outcome: "joined", message: text } as const);
  return { form, text, isError: false, invitation };
}

/** Throws on any other status than success. */
async function send({ step, email, code }: Submission): Promise<JoinedBody | ConfirmedBody> {
  // Browsers from before 2022 have no such timeout, only that of the system.
  const signal = AbortSignal.timeout?.(TIMEOUT_MS);
  const [url, body]: [string, SignUpBody | ConfirmBody] =
    step === "email" ? [SIGN_UP_URL, { email }] : [CONFIRM_URL, { email, code }];
  // Parsing also rejects a proxy's HTML page.
  return (await request("POST", url, body, signal)).json();
}

type Failure = readonly [FormOutcome, text: string];

/** What the form shows after a failure, by the status. */
const FAILURES: Record<FormStep, { [status: number]: Failure; other: Failure }> = {
  email: {
    400: ["invalid", COPY.INVALID_EMAIL],
    409: ["failed", COPY.ALREADY_LISTED],
    other: ["failed", COPY.FAILED],
  },
  code: {
    400: ["invalid", COPY.WRONG_CODE],
    423: ["invalid", COPY.LOCKED_CODE],
    other: ["failed", COPY.CODE_FAILED],
  },
};

const withProduct = (text: string, product: string) => text.replace("{product}", () => product);
