// Written by `make generate NAME=bindings`; do not edit.

export type SignUpBody = { 
/**
 * The address as typed.
 */
email: string, };

export type JoinedBody = { 
/**
 * The address without surrounding spaces.
 */
email: string, 
/**
 * Absent if the site shows none, or asks the person to confirm the address first.
 */
invitation?: Invitation, };

export type Invitation = { 
/**
 * The person's link to the page.
 */
link: string, 
/**
 * The person's place in line, from 1.
 */
place: number, };

export type ConfirmBody = { 
/**
 * The address, as typed.
 */
email: string, 
/**
 * The code, as typed.
 */
code: string, };

export type CountBody = { 
/**
 * Number of people on the list.
 */
count: number, };

export type ConfirmedBody = { 
/**
 * Always true: a failure has another status.
 */
confirmed: boolean, 
/**
 * Absent if the site shows none.
 */
invitation?: Invitation, };

export type ErrorBody = { 
/**
 * The fault and the remedy, in a sentence for people.
 */
error: string, };

export type NoProps = Record<symbol, never>;

export type FormStep = "email" | "code";

export type FormOutcome = "" | "joined" | "invalid" | "failed";

export type FormState = { 
/**
 * The step.
 */
step: FormStep, 
/**
 * Content of the field for the code.
 */
code: string, 
/**
 * Text above the field; empty in the first step.
 */
lead: string, 
/**
 * Outcome of the last submit.
 */
outcome: FormOutcome, 
/**
 * Text below the field: the outcome of the last submit, or what happens next.
 */
message: string, 
/**
 * The address as typed.
 */
email: string, };

export type WaitlistFormProps = { 
/**
 * Name of the product, for the promise and the success toast.
 */
product: string, 
/**
 * The URL that the form is posted to without JavaScript.
 */
action: string, 
/**
 * The count line when the page was rendered; empty if it is hidden.
 */
count_line: string, 
/**
 * The count line is hidden below this number.
 */
count_from: number, 
/**
 * Whether people are asked to confirm their address by a code.
 */
confirms: boolean, 
/**
 * The step.
 */
step: FormStep, 
/**
 * Content of the field for the code.
 */
code: string, 
/**
 * Text above the field; empty in the first step.
 */
lead: string, 
/**
 * Outcome of the last submit.
 */
outcome: FormOutcome, 
/**
 * Text below the field: the outcome of the last submit, or what happens next.
 */
message: string, 
/**
 * The address as typed.
 */
email: string, };

export type ContactLinksProps = { 
/**
 * The owner's address, for the mailto link.
 */
email: string, 
/**
 * URL of the social profile.
 */
social: string, 
/**
 * Host of the social profile, shown next to the link.
 */
social_host: string, };
