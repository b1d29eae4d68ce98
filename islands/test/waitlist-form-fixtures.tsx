/** Helpers for the form's tests: they render the form, mock the server, and find the form's elements. */
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { queryClient } from "../api-client";
import type { WaitlistFormProps } from "../bindings/wire";
import { WAITLIST_FORM_PROPS } from "./props";
import { dismissToast } from "../toast-store";
import { openToast } from "./toasts";
import WaitlistForm from "../waitlist-form/waitlist-form";

export const EMAIL = "ada@example.com";
export const PRERENDERED_COUNT = 41;
export const MESSAGES = {
  promise: "We’ll email you when Steward $& Co is ready.",
  empty: "Please enter your email address",
  invalid: "Please enter a valid email address",
  listed: "Email already on waitlist",
  failed: "Failed to add to waitlist. Please try again.",
  joined: "You've been added to the waitlist. We'll notify you when Steward $& Co is ready.",
};

/** The server's responses, by request. */
export const getCount = vi.fn<() => Promise<Response>>();
export const postSignUp = vi.fn<(body: unknown) => Promise<Response>>();
export const postCode = vi.fn<(body: unknown) => Promise<Response>>();

beforeEach(() => {
  respondWithCount(42);
  postSignUp.mockReset();
  postSignUp.mockImplementation(async () => Response.json({ email: EMAIL }, { status: 201 }));
  postCode.mockReset();
  postCode.mockImplementation(async () => Response.json({ confirmed: true }));
  vi.stubGlobal("fetch", async (url: string, init: RequestInit = {}) => {
    const request = `${init.method ?? "GET"} ${url}`;
    if (request === "GET /api/waitlist/count") return getCount();
    if (request === "POST /api/waitlist") return postSignUp(JSON.parse(String(init.body)));
    if (request === "POST /api/waitlist/confirm") return postCode(JSON.parse(String(init.body)));
    throw new Error(`unexpected request: ${request}`);
  });
});

afterEach(() => {
  getCount.mockReset();
  queryClient.clear();
  dismissToast();
  for (const { now } of [performance, Date]) if (vi.isMockFunction(now)) now.mockRestore();
});

/** Lets the time pass in which a click may be the second one of a double click, while the clock is set back. */
export function passDoubleClick() {
  const later = performance.now() + 1000;
  vi.spyOn(performance, "now").mockReturnValue(later);
  vi.spyOn(Date, "now").mockReturnValue(0);
}

export function respondWithCount(count: number) {
  getCount.mockImplementation(async () => Response.json({ count }));
}

/** Responds to every sign-up with this status and body. */
export function respondToSignUps(status: number, body: string | null = "no") {
  postSignUp.mockImplementation(async () => new Response(body, { status }));
}

/** Holds back the next response to a request. Returns the function that sends it. */
export function holdResponse(request: {
  mockReturnValueOnce(response: Promise<Response>): unknown;
}): (response: Response) => void {
  let send: (response: Response) => void = () => {};
  request.mockReturnValueOnce(new Promise((resolve) => (send = resolve)));
  return send;
}

export function renderForm(props: Partial<WaitlistFormProps> = {}) {
  render(
    <section>
      <WaitlistForm {...WAITLIST_FORM_PROPS} {...props} />
    </section>,
  );
  return userEvent.setup();
}

/** Renders the form and submits `EMAIL`. */
export async function signUp() {
  const user = renderForm();
  await user.type(field(), EMAIL);
  await user.click(button());
  return user;
}

export function field() {
  return screen.getByLabelText<HTMLInputElement>("Email address");
}

export function button() {
  return screen.getByRole<HTMLButtonElement>("button");
}

export function form() {
  return field().closest("form") ?? document.body;
}

/** The text below the field. */
export function message() {
  return document.querySelector(".waitlist-message")?.textContent;
}

export function countLine() {
  return document.querySelector<HTMLElement>(".waitlist-count");
}

/** Waits until the count line shows this number. */
export async function waitForCount(count: number) {
  const text = `${count} entrepreneurs already on the list`;
  await waitFor(() => expect(countLine()?.textContent).toBe(text));
}

export async function waitUntilEnabled() {
  await waitFor(() => expect(button().disabled).toBe(false));
}

export async function waitForToast(title: "Success!" | "Error" | RegExp) {
  const expected = { title: expect.stringMatching(title) };
  await waitFor(() => expect(openToast()).toMatchObject(expected));
}

export function expectErrorToast(text: string) {
  expect(openToast()).toMatchObject({ title: "Error", text, variant: "destructive" });
}
