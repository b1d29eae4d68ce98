// Written by `make bindings`; do not edit.

export type SignUpBody = { 
/**
 * The address as typed, without the spaces around it.
 */
email: string, };

export type CountBody = { 
/**
 * People on the list.
 */
count: number, };

export type ErrorBody = { 
/**
 * What is wrong and what to do, for a person.
 */
error: string, };

export type IslandName = "demo-terminal" | "waitlist-form" | "contact-links" | "toaster";

export type NoProps = Record<symbol, never>;

export type CountState = "hidden" | "empty" | "live";

export type FormOutcome = "" | "joined" | "invalid" | "failed";

export type WaitlistFormProps = { 
/**
 * The product's name, for the promise and the success toast.
 */
product: string, 
/**
 * People on the list when the page was made.
 */
count: number, 
/**
 * The count line is hidden below this number.
 */
count_from: number, 
/**
 * How the count line looks when the page was made.
 */
count_state: CountState, 
/**
 * What the field holds: empty, or what was typed when the form posted itself and failed.
 */
email: string, 
/**
 * What became of the form that posted itself.
 */
outcome: FormOutcome, 
/**
 * Whether the field's content is what was wrong.
 */
invalid: boolean, 
/**
 * Below the field: what became of the form that posted itself, else the promise.
 */
message: string, };

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
 * Its host, shown beside the link.
 */
social_host: string, };
