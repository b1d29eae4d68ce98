import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { describe, expect, test, vi } from "vitest";
import { scrollTo } from "../test/setup";
import {
  EMAIL,
  count,
  join,
  posted,
  setup,
  submit,
  answerLater,
  field,
  button,
  label,
  findCount,
  openToasts,
  waitForToast,
  expectError,
} from "./fixtures";

describe("joining", () => {
  test("§7 sends the address, without the spaces around it", async () => {
    const user = setup();
    await user.type(field(), `  ${EMAIL} {Enter}`);
    await waitForToast("Success!");
    expect(join).toHaveBeenCalledExactlyOnceWith({ email: EMAIL });
  });

  test("§4 while submitting, the field and the button are disabled and the button reads 'Adding...'", async () => {
    const answer = answerLater();
    const user = setup();
    await user.type(field(), EMAIL);
    expect(label()).toBe("Join the Waitlist");
    await user.click(button());
    await waitFor(() => expect(label()).toBe("Adding..."));
    expect(button().disabled).toBe(true);
    expect(field().disabled).toBe(true);
    expect(field().value).toBe(EMAIL);
    expect(openToasts()).toEqual([]);
    answer(Response.json({}));
    await waitFor(() => expect(label()).toBe("Join the Waitlist"));
    expect(button().disabled).toBe(false);
    expect(field().disabled).toBe(false);
  });

  test("§8 success clears the field and shows the toast with the product's name", async () => {
    await submit();
    await waitForToast("Success!");
    expect(openToasts()).toMatchObject([
      {
        title: "Success!",
        text: "You've been added to the waitlist. We'll notify you when Steward $& Co is ready.",
        variant: "default",
      },
    ]);
    expect(field().value).toBe("");
  });

  test("what fills in every field is told that it has joined, and signs nobody up", async () => {
    const user = setup();
    await user.type(field(), EMAIL);
    const trap = screen.getByLabelText<HTMLInputElement>("Leave this empty");
    trap.value = "cheap pills";
    await user.click(button());
    await waitForToast("Success!");
    expect(field().value).toBe("");
    expect(join).not.toHaveBeenCalled();
    expect(posted).toHaveBeenCalledExactlyOnceWith(`email=ada%40example.com&topic=cheap+pills`);
  });

  test("§4 success clears also a field that the server has filled", async () => {
    const user = setup({ email: EMAIL });
    expect(field().value).toBe(EMAIL);
    await user.click(button());
    await waitForToast("Success!");
    expect(join).toHaveBeenCalledExactlyOnceWith({ email: EMAIL });
    expect(field().value).toBe("");
  });

  test("§4 success refetches the count", async () => {
    const user = setup();
    scrollTo(1);
    await findCount(42);
    count.mockImplementation(async () => Response.json({ count: 43 }));
    await user.type(field(), `${EMAIL}{Enter}`);
    await findCount(43);
    expect(count).toHaveBeenCalledTimes(2);
  });

  test("§4 success refetches the count even while an earlier read is under way", async () => {
    let answerEarlier: (response: Response) => void = () => {};
    count.mockImplementationOnce(() => new Promise((resolve) => (answerEarlier = resolve)));
    const user = setup();
    scrollTo(1);
    await waitFor(() => expect(count).toHaveBeenCalledOnce());
    count.mockImplementation(async () => Response.json({ count: 43 }));
    await user.type(field(), `${EMAIL}{Enter}`);
    await waitForToast("Success!");
    await act(async () => answerEarlier(Response.json({ count: 42 })));
    await findCount(43);
  });

  test("§4 two submits at once send one request", async () => {
    const answer = answerLater();
    const user = setup();
    await user.type(field(), EMAIL);
    const form = button().form;
    form?.requestSubmit();
    form?.requestSubmit();
    await waitFor(() => expect(button().disabled).toBe(true));
    fireEvent.submit(field());
    answer(Response.json({}));
    await waitForToast("Success!");
    expect(join).toHaveBeenCalledOnce();
  });

  test("§4 a second address can join after the first", async () => {
    const user = await submit();
    await waitForToast("Success!");
    await waitFor(() => expect(field().disabled).toBe(false));
    await user.type(field(), "bob@example.com{Enter}");
    await waitFor(() => expect(join).toHaveBeenLastCalledWith({ email: "bob@example.com" }));
  });
});

describe("a failure", () => {
  test.each(["", "   "])("§5 an empty field (%j) sends nothing and says so", async (typed) => {
    const user = setup();
    if (typed) await user.type(field(), typed);
    await user.click(button());
    expectError("Please enter your email address");
    expect(join).not.toHaveBeenCalled();
    expect(field().disabled).toBe(false);
  });

  test("§5 the browser's own check holds back what is no address", async () => {
    const user = setup();
    await user.type(field(), "ada{Enter}");
    expect(field().type).toBe("email");
    expect(join).not.toHaveBeenCalled();
    expect(openToasts()).toEqual([]);
  });

  test.each([
    ["409", "Email already on waitlist", new Response("taken", { status: 409 })],
    ["409 without a body", "Email already on waitlist", new Response(null, { status: 409 })],
    ["400", "Please enter a valid email address", new Response("no address", { status: 400 })],
    [
      "400 that mentions 409",
      "Please enter a valid email address",
      new Response("409: x", { status: 400 }),
    ],
    ["500", "Failed to add to waitlist. Please try again.", new Response("oops", { status: 500 })],
    [
      "500 that mentions 409",
      "Failed to add to waitlist. Please try again.",
      new Response("409: taken", { status: 500 }),
    ],
    [
      "429 that mentions 400",
      "Failed to add to waitlist. Please try again.",
      new Response("in 400 s", { status: 429 }),
    ],
    [
      "success that is not JSON",
      "Failed to add to waitlist. Please try again.",
      new Response("<!doctype html>"),
    ],
  ])("§8 a %s reads '%s', and the field keeps its text", async (_answer, text, response) => {
    join.mockResolvedValue(response);
    const user = await submit();
    await waitForToast("Error");
    expectError(text);
    expect(field().value).toBe(EMAIL);
    await waitFor(() => expect(button().disabled).toBe(false));
    expect(join).toHaveBeenCalledOnce();
    // And the next try is not held back.
    await user.click(button());
    await waitFor(() => expect(join).toHaveBeenCalledTimes(2));
  });

  test("§8 a request that fails reads 'Failed to add to waitlist. Please try again.'", async () => {
    join.mockRejectedValue(new TypeError("Failed to fetch"));
    await submit();
    await waitForToast("Error");
    expectError("Failed to add to waitlist. Please try again.");
    expect(field().value).toBe(EMAIL);
    expect(join).toHaveBeenCalledOnce();
  });

  test("§8 offline, it says so at once instead of waiting for the network", async () => {
    join.mockRejectedValue(new TypeError("Failed to fetch"));
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    const user = setup();
    act(() => window.dispatchEvent(new Event("offline")));
    await user.type(field(), `${EMAIL}{Enter}`);
    await waitForToast("Error");
    act(() => window.dispatchEvent(new Event("online")));
    expectError("Failed to add to waitlist. Please try again.");
    expect(join).toHaveBeenCalledOnce();
  });

  test("§4 a failure doesn't refetch the count", async () => {
    join.mockResolvedValue(new Response("taken", { status: 409 }));
    await submit();
    await waitForToast("Error");
    await waitFor(() => expect(field().disabled).toBe(false));
    expect(count).not.toHaveBeenCalled();
  });

  test("the field has the focus after each failure", async () => {
    join.mockImplementation(async () => new Response("taken", { status: 409 }));
    const user = await submit();
    await waitFor(() => expect(document.activeElement).toBe(field()));
    await user.click(button());
    await waitFor(() => expect(join).toHaveBeenCalledTimes(2));
    await waitFor(() => expect(document.activeElement).toBe(field()));
  });

  test("the field has the focus after an empty submit", async () => {
    const user = setup();
    await user.click(button());
    expect(document.activeElement).toBe(field());
  });

  test("the focus of a visitor who has moved on meanwhile stays where it is", async () => {
    let refuse = () => {};
    join.mockImplementation(
      () => new Promise((resolve) => (refuse = () => resolve(new Response("", { status: 500 })))),
    );
    const elsewhere = document.body.appendChild(document.createElement("a"));
    elsewhere.href = "#";
    await submit();
    elsewhere.focus();
    refuse();
    await waitForToast("Error");
    await waitFor(() => expect(field().disabled).toBe(false));
    expect(document.activeElement).toBe(elsewhere);
    elsewhere.remove();
  });
});
