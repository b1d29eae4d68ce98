/** Shared by the form's tests: the rendered form, a stub server, and queries for what is shown. */
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { queryClient } from "../query";
import { dismiss, snapshot } from "../toast-store";
import WaitlistForm from "./waitlist-form";

export const EMAIL = "ada@example.com";
/** Also what `replace` would take for a pattern stands as it is. */
export const PRODUCT = "Steward $& Co";
export const PRERENDERED_COUNT = 41;
export const PROMISE = "We'll email you when Steward $& Co is ready.";

export const count = vi.fn<() => Promise<Response>>();
export const join = vi.fn<(entry: unknown) => Promise<Response>>();
/** The form posting itself, which is the page's and not the API's. */
export const posted = vi.fn<(body: string) => Promise<Response>>();

beforeEach(() => {
  count.mockReset().mockImplementation(async () => Response.json({ count: 42 }));
  join.mockReset().mockImplementation(async () => Response.json({ email: EMAIL }, { status: 201 }));
  posted.mockReset().mockImplementation(async () => new Response("", { status: 201 }));
  vi.stubGlobal("fetch", async (url: string, init: RequestInit = {}) => {
    const method = init.method ?? "GET";
    if (`${method} ${url}` === "GET /api/waitlist/count") return count();
    if (`${method} ${url}` === "POST /api/waitlist") return join(JSON.parse(String(init.body)));
    if (`${method} ${url}` === "POST /") return posted(String(init.body));
    throw new Error(`unexpected: ${method} ${url}`);
  });
});

afterEach(() => {
  queryClient.clear();
  for (const { id } of snapshot()) dismiss(id);
});

export function setup({ email = "", countFrom = 0 } = {}) {
  render(
    <section>
      <WaitlistForm
        product={PRODUCT}
        count={PRERENDERED_COUNT}
        count_from={countFrom}
        count_state="live"
        email={email}
        outcome=""
        invalid={false}
        message={PROMISE}
      />
    </section>,
  );
  return userEvent.setup();
}

export async function submit() {
  const user = setup();
  await user.type(field(), EMAIL);
  await user.click(button());
  return user;
}

/** The next sign-up is answered when the test says so. */
export function answerLater(): (response: Response) => void {
  let answer: (response: Response) => void = () => {};
  const answered = new Promise<Response>((resolve) => (answer = resolve));
  join.mockReturnValueOnce(answered);
  return answer;
}

export function field() {
  return screen.getByLabelText<HTMLInputElement>("Email address");
}

export function button() {
  return screen.getByRole<HTMLButtonElement>("button");
}

/** What the button reads. */
export function label() {
  return button().textContent;
}

/** What stands below the field, and describes it. */
export function message() {
  const id = field().getAttribute("aria-describedby") ?? "";
  return document.getElementById(id)?.textContent;
}

/** The count line, once it has this number. */
export async function findCount(number: number) {
  const line = `${number} entrepreneurs already on the list`;
  await waitFor(() => expect(countLine()?.textContent).toBe(line));
}

export function countLine() {
  return document.querySelector<HTMLElement>(".waitlist-count");
}

export function form() {
  return field().closest("form") ?? document.body;
}

export function openToasts() {
  return snapshot().filter(({ open }) => open);
}

export async function waitForToast(title: string) {
  await waitFor(() => expect(openToasts()).toMatchObject([{ title }]));
}

export function expectError(text: string) {
  expect(openToasts()).toMatchObject([{ title: "Error", text, variant: "destructive" }]);
}
