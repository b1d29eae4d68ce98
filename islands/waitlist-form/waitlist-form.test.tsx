import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { describe, expect, test, vi } from "vitest";
import { scrollTo } from "../test/setup";
import { openToast } from "../test/toasts";
import {
  button,
  EMAIL,
  expectErrorToast,
  field,
  getCount,
  holdResponse,
  MESSAGES,
  postSignUp,
  renderForm,
  respondToSignUps,
  respondWithCount,
  signUp,
  waitForCount,
  waitForToast,
  waitUntilEnabled,
} from "../test/waitlist-form-fixtures";

describe("a sign-up", () => {
  test("§7 sends the address without the spaces around it", async () => {
    const user = renderForm();
    await user.type(field(), `  ${EMAIL} {Enter}`);
    await waitForToast("Success!");
    expect(postSignUp).toHaveBeenCalledExactlyOnceWith({ email: EMAIL });
  });

  test.each([
    "\u00a0",
    "\u00ad",
    "\u034f",
    "\u200b",
    "\u202a",
    " \u2060\t",
    "\u2800",
    "\u3164",
    "\ufe0f",
    "\ufeff",
    "\u{e0061}",
  ])("sends the address without the invisible characters (%j) around it", async (invisible) => {
    const user = renderForm();
    await user.click(field());
    await user.paste(`${invisible}${EMAIL}${invisible}`);
    expect(field().value).toBe(EMAIL);
    await user.click(button());
    await waitForToast("Success!");
    expect(postSignUp).toHaveBeenCalledExactlyOnceWith({ email: EMAIL });
  });

  test("§4 disables the field and the button, which reads 'Adding...', until the response", async () => {
    const respond = holdResponse(postSignUp);
    const user = renderForm();
    await user.type(field(), EMAIL);
    expect(button().textContent).toBe("Join the Waitlist");
    await user.click(button());
    await waitFor(() => expect(button().textContent).toBe("Adding..."));
    expect(button().disabled).toBe(true);
    expect(field().disabled).toBe(true);
    expect(field().value).toBe(EMAIL);
    expect(openToast()).toBeUndefined();
    respond(Response.json({}));
    await waitFor(() => expect(button().textContent).toBe("Join the Waitlist"));
    expect(button().disabled).toBe(false);
    expect(field().disabled).toBe(false);
  });

  test("§8 success clears the field and shows a toast with the product's name", async () => {
    await signUp();
    await waitForToast("Success!");
    expect(openToast()).toMatchObject({
      title: "Success!",
      text: MESSAGES.joined,
      variant: "default",
    });
    expect(field().value).toBe("");
  });

  test("§4 success clears a field that the server filled in", async () => {
    const user = renderForm({ email: EMAIL });
    expect(field().value).toBe(EMAIL);
    await user.click(button());
    await waitForToast("Success!");
    expect(postSignUp).toHaveBeenCalledExactlyOnceWith({ email: EMAIL });
    expect(field().value).toBe("");
  });

  test("§4 success refetches the count", async () => {
    const user = renderForm();
    scrollTo(1);
    await waitForCount(42);
    respondWithCount(43);
    await user.type(field(), `${EMAIL}{Enter}`);
    await waitForCount(43);
    expect(getCount).toHaveBeenCalledTimes(2);
  });

  test("§4 success refetches the count even if an earlier read is pending", async () => {
    const respond = holdResponse(getCount);
    const user = renderForm();
    scrollTo(1);
    await waitFor(() => expect(getCount).toHaveBeenCalledOnce());
    respondWithCount(43);
    await user.type(field(), `${EMAIL}{Enter}`);
    await waitForToast("Success!");
    await act(async () => respond(Response.json({ count: 42 })));
    await waitForCount(43);
  });

  test("§4 two submits at once send one request", async () => {
    const respond = holdResponse(postSignUp);
    const user = renderForm();
    await user.type(field(), EMAIL);
    const form = button().form;
    form?.requestSubmit();
    form?.requestSubmit();
    await waitFor(() => expect(button().disabled).toBe(true));
    fireEvent.submit(field());
    respond(Response.json({}));
    await waitForToast("Success!");
    expect(postSignUp).toHaveBeenCalledOnce();
  });

  test("§4 a second address can join after the first", async () => {
    const user = await signUp();
    await waitForToast("Success!");
    await waitUntilEnabled();
    await user.type(field(), "bob@example.com{Enter}");
    await waitFor(() => expect(postSignUp).toHaveBeenLastCalledWith({ email: "bob@example.com" }));
  });

  test("with a filled honeypot is left to the browser, which posts the form", async () => {
    const user = renderForm();
    await user.type(field(), EMAIL);
    const honeypot = screen.getByLabelText<HTMLInputElement>("Leave this empty");
    honeypot.value = "cheap pills";
    const isPosted = new Promise((resolve) => {
      const listener = (event: Event) => {
        resolve(!event.defaultPrevented);
        event.preventDefault();
      };
      addEventListener("submit", listener, { once: true });
    });
    await user.click(button());
    expect(await isPosted).toBe(true);
    expect(Object.fromEntries(new FormData(field().form ?? undefined))).toMatchObject({
      email: EMAIL,
      topic: "cheap pills",
    });
    expect(postSignUp).not.toHaveBeenCalled();
  });
});

describe("a failure", () => {
  test.each(["", "   "])(
    "§5 an empty field (%j) sends no request and is reported",
    async (typed) => {
      const user = renderForm();
      if (typed) await user.type(field(), typed);
      await user.click(button());
      expectErrorToast(MESSAGES.empty);
      expect(postSignUp).not.toHaveBeenCalled();
      expect(field().disabled).toBe(false);
    },
  );

  test("§5 the browser's own check rejects a malformed address", async () => {
    const user = renderForm();
    await user.type(field(), "ada{Enter}");
    expect(field().type).toBe("email");
    expect(postSignUp).not.toHaveBeenCalled();
    expect(openToast()).toBeUndefined();
  });

  test.each([
    ["409", MESSAGES.listed, 409, "taken"],
    ["409 without a body", MESSAGES.listed, 409, null],
    ["400", MESSAGES.invalid, 400, "no address"],
    ["400 that mentions 409", MESSAGES.invalid, 400, "409: x"],
    ["500", MESSAGES.failed, 500, "oops"],
    ["500 that mentions 409", MESSAGES.failed, 500, "409: taken"],
    ["429 that mentions 400", MESSAGES.failed, 429, "in 400 s"],
    ["success that is not JSON", MESSAGES.failed, 200, "<!doctype html>"],
  ])("§8 a %s reads '%s' and keeps the field's text", async (_response, text, status, body) => {
    respondToSignUps(status, body);
    const user = await signUp();
    await waitForToast("Error");
    expectErrorToast(text);
    expect(field().value).toBe(EMAIL);
    await waitUntilEnabled();
    expect(postSignUp).toHaveBeenCalledOnce();
    // The next submit is not blocked.
    await user.click(button());
    await waitFor(() => expect(postSignUp).toHaveBeenCalledTimes(2));
  });

  test("§8 a network error reads 'Failed to add to waitlist. Please try again.'", async () => {
    postSignUp.mockRejectedValue(new TypeError("Failed to fetch"));
    await signUp();
    await waitForToast("Error");
    expectErrorToast(MESSAGES.failed);
    expect(field().value).toBe(EMAIL);
    expect(postSignUp).toHaveBeenCalledOnce();
  });

  test("§8 an offline browser fails at once instead of waiting for the network", async () => {
    postSignUp.mockRejectedValue(new TypeError("Failed to fetch"));
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    const user = renderForm();
    act(() => window.dispatchEvent(new Event("offline")));
    await user.type(field(), `${EMAIL}{Enter}`);
    await waitForToast("Error");
    act(() => window.dispatchEvent(new Event("online")));
    expectErrorToast(MESSAGES.failed);
    expect(postSignUp).toHaveBeenCalledOnce();
  });

  test("§4 does not refetch the count", async () => {
    respondToSignUps(409);
    await signUp();
    await waitForToast("Error");
    await waitUntilEnabled();
    expect(getCount).not.toHaveBeenCalled();
  });

  test("moves the focus to the field each time", async () => {
    respondToSignUps(409);
    const user = await signUp();
    await waitFor(() => expect(document.activeElement).toBe(field()));
    await user.click(button());
    await waitFor(() => expect(postSignUp).toHaveBeenCalledTimes(2));
    await waitFor(() => expect(document.activeElement).toBe(field()));
  });

  test("an empty submit moves the focus to the field", async () => {
    const user = renderForm();
    await user.click(button());
    expect(document.activeElement).toBe(field());
  });

  test("leaves the focus where the visitor has moved it", async () => {
    const respond = holdResponse(postSignUp);
    const link = document.body.appendChild(document.createElement("a"));
    link.href = "#";
    await signUp();
    link.focus();
    respond(new Response("", { status: 500 }));
    await waitForToast("Error");
    await waitUntilEnabled();
    expect(document.activeElement).toBe(link);
  });
});
