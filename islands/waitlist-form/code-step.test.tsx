import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { describe, expect, test } from "vitest";
import { openToast } from "../test/toasts";
import {
  EMAIL,
  expectErrorToast,
  field,
  holdResponse,
  message,
  passDoubleClick,
  postCode,
  postSignUp,
  renderForm,
  respondToSignUps,
  waitForToast,
  waitUntilEnabled,
} from "../test/waitlist-form-fixtures";

const SENT = `Check your inbox: we sent a code to ${EMAIL}.`;
const ASKED = `${EMAIL} is already on the waitlist. If you have not confirmed it, enter the code that we sent.`;
const HINT = "Or open the link in the message. For a new code, join again in an hour.";
const CONFIRMED = "Your address is confirmed. We’ll email you when Steward $& Co is ready.";
const WRONG = "That code is wrong. Try again, or open the link in the message.";
const MALFORMED = "Please enter only the six digits of the code";
const LOCKED = "Too many wrong codes. Join again in an hour, or open the link in the message.";
const FAILED = "Failed to confirm. Please try again.";

describe("the step for the code", () => {
  test("does not come if the owner does not ask for codes", async () => {
    await join({ confirms: false });
    await waitUntilEnabled();
    expect(codeField()).toBeNull();
    expect(lead()).toBe("");
  });

  test("follows a sign-up: it names the address, and the field has the focus", async () => {
    await join();
    await waitFor(() => expect(document.activeElement).toBe(codeField()));
    expect(lead()).toBe(SENT);
    expect(message()).toBe(HINT);
    expect(openToast()).toMatchObject({ title: "Success!" });
    expect(codeField()?.autocomplete).toBe("one-time-code");
    expect(codeField()?.inputMode).toBe("numeric");
    expect(codeField()?.value).toBe("");
    expect(description()).toBe(`${SENT} ${HINT}`);
    expect(screen.getByRole("button").textContent).toBe("Confirm");
  });

  test("follows a 409 without an error in the form, because somebody comes back for it", async () => {
    respondToSignUps(409);
    await join();
    await waitFor(() => expect(document.activeElement).toBe(codeField()));
    expect(lead()).toBe(ASKED);
    expect(message()).toBe(HINT);
    expect(codeField()?.form?.dataset["outcome"]).toBe("");
    expect(description()).toBe(`${ASKED} ${HINT}`);
    expectErrorToast("Email already on waitlist");
  });

  test.each([400, 500])("does not follow a %d", async (status) => {
    respondToSignUps(status, "{}");
    await join();
    await waitUntilEnabled();
    expect(codeField()).toBeNull();
    expect(field().value).toBe(EMAIL);
  });

  test("keeps every element, also those that a password manager has wrapped", async () => {
    const user = renderForm({ confirms: true });
    const input = field();
    const wrapper = document.createElement("span");
    input.replaceWith(wrapper);
    wrapper.append(input);
    await user.type(input, `${EMAIL}{Enter}`);
    await waitFor(() => expect(codeField()).toBe(input));
    await user.type(input, "123456{Enter}");
    await waitFor(() => expect(message()).toBe(CONFIRMED));
    expect(input.isConnected).toBe(true);
    expect(input.parentElement).toBe(wrapper);
  });

  test("can be left for another address, which is corrected instead of typed again", async () => {
    const user = await join();
    await waitFor(() => expect(codeField()).not.toBeNull());
    // The second click of a double click.
    await user.click(screen.getByRole("link", { name: "Use another address" }));
    expect(codeField()).not.toBeNull();
    passDoubleClick();
    // Opens another tab.
    await user.keyboard("{Control>}");
    await user.click(screen.getByRole("link", { name: "Use another address" }));
    await user.keyboard("{/Control}");
    expect(codeField()).not.toBeNull();
    await user.click(screen.getByRole("link", { name: "Use another address" }));
    expect(field().value).toBe(EMAIL);
    expect(document.activeElement).toBe(field());
    expect(lead()).toBe("");
    expect(openToast()).toBeUndefined();
    await user.type(field(), "x{Enter}");
    await waitFor(() => expect(postSignUp).toHaveBeenLastCalledWith({ email: `${EMAIL}x` }));
  });
});

describe("a code", () => {
  test("is sent once by a key that is held", async () => {
    await join();
    const code = await findCodeField();
    expect(fireEvent.keyDown(code, { key: "Enter" })).toBe(true);
    expect(fireEvent.keyDown(code, { key: "Enter", repeat: true })).toBe(false);
    expect(fireEvent.keyDown(code, { key: "1", repeat: true })).toBe(true);
  });

  test("is sent with the address, which confirms it", async () => {
    const user = await join();
    await user.type(await findCodeField(), "358208 is your code");
    await user.click(screen.getByRole("button"));
    await waitFor(() => expect(message()).toBe(CONFIRMED));
    expect(postCode).toHaveBeenCalledExactlyOnceWith({ email: EMAIL, code: "358208" });
    expect(openToast()).toMatchObject({ title: "Success!", text: CONFIRMED });
    // The style shows only the message and the way to another address (`style/waitlist-form.css`).
    expect(codeField()?.value).toBe("");
    expect(codeField()?.form?.dataset).toMatchObject({ step: "code", outcome: "joined" });
    expect(lead()).toBe("");
    const otherAddress = screen.getByRole("link", { name: "Use another address" });
    await waitFor(() => expect(document.activeElement).toBe(otherAddress));
    // The style hides the field until then, and a hidden field cannot have the focus.
    const stepOnFocus = new Promise((resolve) => {
      const { form } = codeField() as HTMLInputElement;
      form?.addEventListener("focusin", () => resolve(form.dataset["step"]), { once: true });
    });
    passDoubleClick();
    await user.click(otherAddress);
    expect(field().value).toBe("");
    expect(document.activeElement).toBe(field());
    expect(await stepOnFocus).toBe("email");
  });

  test.each([
    ["that is wrong", 400, WRONG, "true"],
    ["after too many wrong ones", 423, LOCKED, "true"],
    ["that cannot be checked", 503, FAILED, "false"],
  ])("%s is shown and explained until it is corrected", async (_what, status, text, invalid) => {
    postCode.mockResolvedValueOnce(new Response("no", { status }));
    const user = await join();
    await user.type(await findCodeField(), "123456 or 123457{Enter}");
    await waitFor(() => expect(message()).toBe(text));
    expectErrorToast(text);
    expect(codeField()?.getAttribute("aria-invalid")).toBe(invalid);
    expect(codeField()?.value).toBe("123456");
    await waitFor(() => expect(document.activeElement).toBe(codeField()));
    expect(lead()).toBe(SENT);
    // The second click of a double click costs no other try. A request that failed has cost none.
    if (status !== 503) fireEvent.submit(await findCodeField());
    expect(postCode).toHaveBeenCalledOnce();
    await user.type(await findCodeField(), "{Backspace}");
    expect(message()).toBe(HINT);
    await user.type(await findCodeField(), "7{Enter}");
    await waitFor(() => expect(message()).toBe(CONFIRMED));
  });

  test.each([
    ["358208", "358208"],
    [" 358 208 ", "358208"],
    ["358-208", "358208"],
    ["3 5 8 2 0 8", "358208"],
    ["358\u2013208", "358208"],
    ["３５８２０８", "358208"],
    ["358208 or 358209", "358208"],
    ["358 208, not 123456", "358208"],
    ["Your code 358208 is valid for 30 minutes", "358208"],
    ["2 codes: 358 208", "358208"],
    ["358208 30", "358208"],
    ["2026-11-29 358208", "358208"],
    ["29\u201311\u20132026 358208", "358208"],
    ["358\u200B208", "358208"],
    ["358208 is your code. Your code: 358208", "358208"],
  ])("in %j is %j", async (typed, code) => {
    renderForm({ step: "code", confirms: true, email: EMAIL });
    fireEvent.change(await findCodeField(), { target: { value: typed } });
    fireEvent.submit(await findCodeField());
    await waitFor(() => expect(message()).toBe(CONFIRMED));
    expect(postCode).toHaveBeenCalledExactlyOnceWith({ email: EMAIL, code });
  });

  test.each(["12345", "1234567", "abcdef", "3582 08123"])(
    "is not in %j: the field says so, without a request",
    async (typed) => {
      renderForm({ step: "code", confirms: true, email: EMAIL });
      fireEvent.change(await findCodeField(), { target: { value: typed } });
      fireEvent.submit(await findCodeField());
      expectErrorToast(MALFORMED);
      expect(message()).toBe(MALFORMED);
      expect(codeField()?.getAttribute("aria-invalid")).toBe("true");
      expect(codeField()?.value).toBe(typed);
      expect(document.activeElement).toBe(codeField());
      expect(postCode).not.toHaveBeenCalled();
    },
  );

  test("that is empty sends no request and is reported", async () => {
    const user = await join();
    await findCodeField();
    // Not a second click of the one that has joined.
    await user.type(await findCodeField(), "1{Backspace}{Enter}");
    expectErrorToast("Please enter the code from the message");
    expect(codeField()?.getAttribute("aria-invalid")).toBe("true");
    expect(postCode).not.toHaveBeenCalled();
  });

  test("is sent once, however often the visitor presses Enter", async () => {
    const respond = holdResponse(postCode);
    const user = await join();
    await user.type(await findCodeField(), "123456{Enter}{Enter}");
    await waitFor(() => expect(screen.getByRole("button").textContent).toBe("Wait..."));
    await user.click(screen.getByRole("button"));
    respond(Response.json({ confirmed: true }));
    await waitFor(() => expect(message()).toBe(CONFIRMED));
    expect(postCode).toHaveBeenCalledOnce();
  });

  test("stays if the visitor clicks 'Use another address' while it is checked", async () => {
    const respond = holdResponse(postCode);
    const user = await join();
    await user.type(await findCodeField(), "123456");
    await act(async () => {
      fireEvent.submit(screen.getByRole("button"));
      // Before the next render.
      fireEvent.click(screen.getByRole("link", { name: "Use another address" }));
    });
    await user.click(screen.getByRole("link", { name: "Use another address" }));
    await act(async () => respond(new Response("no", { status: 503 })));
    expect(codeField()?.value).toBe("123456");
  });
});

test("a code form that the server has sent continues in the island", async () => {
  const state = {
    step: "code",
    outcome: "invalid",
    code: "12345",
    message: WRONG,
  } as const;
  const user = renderForm({
    ...state,
    confirms: true,
    email: EMAIL,
    lead: ASKED,
  });
  expect(codeField()?.value).toBe("12345");
  expect(codeField()?.getAttribute("aria-invalid")).toBe("true");
  await user.type(await findCodeField(), "6{Enter}");
  await waitFor(() => expect(message()).toBe(CONFIRMED));
  expect(postCode).toHaveBeenCalledExactlyOnceWith({
    email: EMAIL,
    code: "123456",
  });
});

/** Renders the form and joins. */
async function join({ confirms = true } = {}) {
  const user = renderForm({ confirms });
  await user.type(field(), `${EMAIL}{Enter}`);
  await waitForToast(/./);
  return user;
}

function codeField() {
  return screen.queryByLabelText<HTMLInputElement>("Code from the message");
}

async function findCodeField() {
  const found = await screen.findByLabelText<HTMLInputElement>("Code from the message");
  await waitFor(() => expect(found.disabled).toBe(false));
  return found;
}

/** The text above the field. */
function lead() {
  return document.querySelector(".waitlist-lead")?.textContent;
}

/** The texts that describe the field. */
function description() {
  const ids = codeField()?.getAttribute("aria-describedby")?.split(" ") ?? [];
  return ids.map((id) => document.getElementById(id)?.textContent).join(" ");
}
