// Written by `make generate NAME=bindings`; do not edit.

export type SignUpBody = { 
/**
 * The address as typed, without surrounding spaces.
 */
email: string, };

export type CountBody = { 
/**
 * Number of people on the list.
 */
count: number, };

export type ConfirmedBody = { 
/**
 * Always true: a failure has another status.
 */
confirmed: boolean, };

export type ErrorBody = { 
/**
 * The fault and the remedy, in a sentence for people.
 */
error: string, };

export type IslandName = "demo-terminal" | "waitlist-form" | "contact-links" | "toaster";

export type NoProps = Record<symbol, never>;

export type CountState = "hidden" | "empty" | "live";

export type FormOutcome = "" | "joined" | "invalid" | "failed";

export type WaitlistFormProps = { 
/**
 * Name of the product, for the promise and the success toast.
 */
product: string, 
/**
 * Number of people on the list when the page was rendered.
 */
count: number, 
/**
 * The count line is hidden below this number.
 */
count_from: number, 
/**
 * State of the count line when the page was rendered.
 */
count_state: CountState, 
/**
 * Content of the address field: empty, unless a sign-up without JavaScript failed.
 */
email: string, 
/**
 * Result of a sign-up without JavaScript.
 */
outcome: FormOutcome, 
/**
 * Whether the content of the field was invalid.
 */
invalid: boolean, 
/**
 * Text below the field: the result of a sign-up without JavaScript, or the promise.
 */
message: string, 
/**
 * Whether people are asked to confirm their address by a code.
 */
confirms: boolean, };

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
