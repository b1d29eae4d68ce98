/** What a submit of the form sends, and what the visitor reads about the response (spec §7, §8). */
import { hasStatus, request } from "../api-client";
import type { FormOutcome } from "../bindings/wire";
import * as COPY from "./copy.json";

const SIGN_UP_URL = "/api/waitlist";
const CONFIRM_URL = "/api/waitlist/confirm";
/** Longest wait for a response, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** An address, or the code that was sent to it. `topic` is the content of the honeypot. */
export interface Submission {
  email: string;
  code?: string;
  topic?: string;
}

/** Sends it. Throws on any other status than success. */
export async function send({ topic, ...body }: Submission): Promise<unknown> {
  // Safari 15 lacks `AbortSignal.timeout`.
  const signal = AbortSignal.timeout?.(TIMEOUT_MS) ?? null;
  // Posted like the form without JavaScript: that route handles bots.
  if (topic)
    return fetch("/", {
      method: "POST",
      body: new URLSearchParams({ ...body, topic }),
      signal,
    });
  const url = body.code === undefined ? SIGN_UP_URL : CONFIRM_URL;
  // The response body is not used, but parsing it rejects a proxy's HTML page.
  return (await request("POST", url, body, signal)).json();
}

/** Returns what a failed submit means, and its text. `src/server/form.rs` and `confirm_code.rs` have the same rules. */
export function failure(error: unknown, { code }: Submission): [FormOutcome, string] {
  const rules = code === undefined ? SIGN_UP_FAILURES : CODE_FAILURES;
  const rule = rules.find(([status]) => hasStatus(error, status));
  if (rule) return [rule[1], rule[2]];
  return ["failed", code === undefined ? COPY.FAILED : COPY.CODE_FAILED];
}

type Rule = readonly [status: number, FormOutcome, text: string];

const SIGN_UP_FAILURES: readonly Rule[] = [
  [400, "invalid", COPY.INVALID_EMAIL],
  [409, "failed", COPY.ALREADY_LISTED],
];

const CODE_FAILURES: readonly Rule[] = [
  [400, "invalid", COPY.WRONG_CODE],
  [423, "invalid", COPY.LOCKED_CODE],
];
