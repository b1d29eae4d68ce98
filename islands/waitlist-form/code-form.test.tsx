import { screen, waitFor } from "@testing-library/react";
import { describe, expect, test } from "vitest";
import {
  EMAIL,
  field,
  holdResponse,
  postCode,
  renderForm,
  respondToSignUps,
  waitForToast,
} from "../test/waitlist-form-fixtures";

const CONFIRMED = "Your address is confirmed.";
const WRONG = "That code is not right. Check the message again, or open the link in it.";
const FAILED = "Failed to confirm. Please try again.";

describe("the field for the code", () => {
  test("does not exist if the owner does not ask for codes", async () => {
    await join({ confirms: false });
    expect(codeField()).toBeNull();
  });

  test("does not exist before the sign-up", () => {
    renderForm({ confirms: true });
    expect(codeField()).toBeNull();
  });

  test.each([201, 409])("appears after a %d", async (status) => {
    respondToSignUps(status, "{}");
    await join();
    expect(codeField()?.autocomplete).toBe("one-time-code");
    expect(codeField()?.inputMode).toBe("numeric");
  });

  test.each([400, 500])("does not appear after a %d", async (status) => {
    respondToSignUps(status, "{}");
    await join();
    expect(codeField()).toBeNull();
  });
});

describe("a code", () => {
  test("is sent with the address, which confirms it", async () => {
    const user = await join();
    await user.type(required(codeField()), "123 456");
    await user.click(confirmButton());
    await waitFor(() => expect(message()).toBe(CONFIRMED));
    expect(postCode).toHaveBeenCalledExactlyOnceWith({ email: EMAIL, code: "123 456" });
    expect(codeField()).toBeNull();
  });

  test.each([
    ["that is wrong", 400, WRONG],
    ["that cannot be checked", 503, FAILED],
  ])("%s is explained, and can be corrected", async (_what, status, text) => {
    postCode.mockResolvedValueOnce(new Response("no", { status }));
    const user = await join();
    await user.type(required(codeField()), "123456{Enter}");
    await waitFor(() => expect(message()).toBe(text));
    expect(codeField()?.getAttribute("aria-invalid")).toBe("true");
    await waitFor(() => expect(document.activeElement).toBe(codeField()));
    await user.type(required(codeField()), "{Enter}");
    await waitFor(() => expect(message()).toBe(CONFIRMED));
  });

  test("is sent once, however often the visitor presses Enter", async () => {
    const respond = holdResponse(postCode);
    const user = await join();
    await user.type(required(codeField()), "123456{Enter}{Enter}");
    await user.click(confirmButton());
    respond(Response.json({ confirmed: true }));
    await waitFor(() => expect(message()).toBe(CONFIRMED));
    expect(postCode).toHaveBeenCalledOnce();
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
  return screen.queryByLabelText<HTMLInputElement>("Got a code by email? Enter it here");
}

function confirmButton() {
  return screen.getByRole<HTMLButtonElement>("button", { name: "Confirm" });
}

/** The result below the field. */
function message() {
  return document.querySelector(".code [role=status]")?.textContent;
}

function required<T>(value: T | null): T {
  if (value === null) throw new Error("nothing was found");
  return value;
}
