/** What a screen reader says at each outcome of the form. */
import { virtual } from "@guidepup/virtual-screen-reader";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";
import { WAITLIST_FORM_PROPS } from "./test/props";
import {
  EMAIL,
  holdResponse,
  postCode,
  postSignUp,
  respondToSignUps,
  waitForToast,
} from "./test/waitlist-form-fixtures";
import Toaster from "./toaster/toaster";
import WaitlistForm from "./waitlist-form/waitlist-form";

afterEach(() => virtual.stop());

/** Each outcome: the status of the sign-up, what the visitor types, and the status of the code. */
const OUTCOMES: Record<string, { typed: string; status?: number; code?: number }> = {
  empty: { typed: "" },
  invalid: { typed: EMAIL, status: 400 },
  duplicate: { typed: EMAIL, status: 409 },
  "server down": { typed: EMAIL, status: 503 },
  "too many": { typed: EMAIL, status: 429 },
  success: { typed: EMAIL, status: 201 },
  "code asked": { typed: EMAIL, status: 201, code: 0 },
  "code asked again": { typed: EMAIL, status: 409, code: 0 },
  "code wrong": { typed: EMAIL, status: 201, code: 400 },
  "code right": { typed: EMAIL, status: 201, code: 200 },
};

test.each(Object.entries(OUTCOMES))("%s", async (_outcome, { typed, status = 500, code }) => {
  respondToSignUps(status, status === 201 ? "{}" : "no");
  render(
    <main>
      <Toaster />
      <WaitlistForm {...WAITLIST_FORM_PROPS} confirms={code !== undefined} />
    </main>,
  );
  const user = userEvent.setup();
  await user.type(screen.getByLabelText("Email address"), typed || "a{Backspace}");
  await virtual.start({ container: document.body });
  await virtual.clearSpokenPhraseLog();
  await user.keyboard("{Enter}");
  await waitForToast(/./);
  if (code) {
    const field = await screen.findByLabelText<HTMLInputElement>("Code from the message");
    await waitFor(() => expect(document.activeElement).toBe(field));
    await user.type(field, "123456");
    await virtual.clearSpokenPhraseLog();
    postCode.mockResolvedValueOnce(Response.json({}, { status: code }));
    await user.keyboard("{Enter}");
  }
  await settle();
  expect(await virtual.spokenPhraseLog()).toMatchSnapshot();
});

test.each([
  ["a sign-up", 201, "Check your inbox"],
  ["a duplicate", 409, `${EMAIL} is already on the waitlist`],
])("after %s, a visitor who has moved on hears about the code", async (_what, status, lead) => {
  const respond = holdResponse(postSignUp);
  render(
    <main>
      <a href="#features">Features</a>
      <Toaster />
      <WaitlistForm {...WAITLIST_FORM_PROPS} confirms />
    </main>,
  );
  const user = userEvent.setup();
  await user.type(screen.getByLabelText("Email address"), `${EMAIL}{Enter}`);
  screen.getByRole("link", { name: "Features" }).focus();
  await virtual.start({ container: document.body });
  respond(new Response("{}", { status }));
  await settle();
  expect(await virtual.spokenPhraseLog()).toContainEqual(
    expect.stringContaining(`polite: ${lead}`),
  );
});

test("a repeated error is heard again", async () => {
  render(
    <main>
      <Toaster />
      <WaitlistForm {...WAITLIST_FORM_PROPS} />
    </main>,
  );
  const user = userEvent.setup();
  await user.type(screen.getByLabelText("Email address"), "a{Backspace}");
  await virtual.start({ container: document.body });
  for (let time = 0; time < 2; time += 1) {
    await virtual.clearSpokenPhraseLog();
    await user.keyboard("{Enter}");
    await settle();
    expect(await virtual.spokenPhraseLog()).toEqual([
      "polite: Notification",
      "polite: Error",
      "polite: Please enter your email address",
    ]);
  }
});

/** Waits until the toast has been announced: Radix writes its text after two frames. */
async function settle() {
  const announcement = () => screen.queryByText(/^Notification (Success|Error)/);
  await waitFor(() => expect(announcement()).not.toBeNull());
  await new Promise((resolve) => setTimeout(resolve, 50));
}
