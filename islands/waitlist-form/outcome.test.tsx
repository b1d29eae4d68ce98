import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { describe, expect, test, vi } from "vitest";
import { subscribe } from "../toast-store";
import {
  EMAIL,
  PROMISE,
  join,
  setup,
  submit,
  answerLater,
  field,
  button,
  message,
  form,
  openToasts,
  waitForToast,
  expectError,
} from "./fixtures";

describe("what became of the last try", () => {
  test("an empty field is marked as invalid until something is typed", async () => {
    const user = setup();
    expect(field().getAttribute("aria-invalid")).toBe("false");
    await user.click(button());
    expect(field().getAttribute("aria-invalid")).toBe("true");
    await user.type(field(), "a");
    expect(field().getAttribute("aria-invalid")).toBe("false");
  });

  test("an address that the server does not take is marked until the next try", async () => {
    join.mockResolvedValueOnce(new Response("no address", { status: 400 }));
    const user = await submit();
    await waitForToast("Error");
    expect(field().getAttribute("aria-invalid")).toBe("true");
    const answer = answerLater();
    await waitFor(() => expect(button().disabled).toBe(false));
    await user.click(button());
    await waitFor(() => expect(button().disabled).toBe(true));
    expect(field().getAttribute("aria-invalid")).toBe("false");
    answer(Response.json({}));
    await waitForToast("Success!");
  });

  test.each([409, 500])("after a %d nothing is wrong with the address", async (status) => {
    join.mockResolvedValue(new Response("no", { status }));
    await submit();
    await waitForToast("Error");
    expect(field().getAttribute("aria-invalid")).toBe("false");
  });

  test("a success is marked until something is typed", async () => {
    const user = await submit();
    await waitForToast("Success!");
    expect(form().dataset["outcome"]).toBe("joined");
    await waitFor(() => expect(field().disabled).toBe(false));
    await user.type(field(), "b");
    expect(form().dataset["outcome"]).toBe("");
  });

  test.each([
    ["an empty field", undefined, "Please enter your email address"],
    ["a 400", 400, "Please enter a valid email address"],
    ["a 409", 409, "Email already on waitlist"],
    ["a 500", 500, "Failed to add to waitlist. Please try again."],
    [
      "a success",
      201,
      "You've been added to the waitlist. We'll notify you when Steward $& Co is ready.",
    ],
  ])(
    "the words for %s stay below the field until something is typed",
    async (_what, status, text) => {
      if (status) join.mockResolvedValueOnce(new Response("{}", { status }));
      const user = setup();
      expect(message()).toBe(PROMISE);
      if (status) await user.type(field(), EMAIL);
      await user.click(button());
      await waitFor(() => expect(message()).toBe(text));
      await waitFor(() => expect(field().disabled).toBe(false));
      await user.type(field(), "c");
      expect(message()).toBe(PROMISE);
    },
  );

  test("a screen reader is told that it is being added, and the rest by toast alone", async () => {
    const unsubscribe = subscribe(() => {});
    const answer = answerLater();
    await submit();
    await waitFor(() => expect(screen.getByRole("status").textContent).toBe("Adding..."));
    answer(new Response("taken", { status: 409 }));
    await waitForToast("Error");
    await waitFor(() => expect(screen.getByRole("status").textContent).toBe(""));
    unsubscribe();
  });

  test("without a toaster a screen reader is told in the page", async () => {
    join.mockResolvedValueOnce(new Response("taken", { status: 409 }));
    await submit();
    await waitFor(() =>
      expect(screen.getByRole("status").textContent).toBe("Email already on waitlist"),
    );
    expect(openToasts()).toEqual([]);
  });

  test("a second click does not turn a success into an error", async () => {
    const user = await submit();
    await waitForToast("Success!");
    await waitFor(() => expect(button().disabled).toBe(false));
    await user.click(button());
    expect(message()).toMatch(/^You've been added/);
    expect(form().dataset["outcome"]).toBe("joined");
    expect(join).toHaveBeenCalledOnce();
  });

  test("an address that the browser refuses is marked, with the reason", async () => {
    setup();
    field().dispatchEvent(new Event("invalid", { cancelable: true }));
    await waitFor(() => expect(message()).toBe("Please enter a valid email address"));
    expect(field().getAttribute("aria-invalid")).toBe("true");
  });

  test("an address that the browser refuses is no longer marked when it is deleted at once", async () => {
    setup();
    fireEvent.change(field(), { target: { value: "abc" } });
    fireEvent.invalid(field());
    await waitFor(() => expect(message()).toBe("Please enter a valid email address"));
    field().value = "";
    fireEvent.input(field());
    await waitFor(() => expect(message()).toBe(PROMISE));
  });

  test("stays when a password manager tells of input that changes nothing", async () => {
    join.mockResolvedValueOnce(new Response("taken", { status: 409 }));
    await submit();
    await waitForToast("Error");
    fireEvent.input(field());
    expect(message()).toBe("Email already on waitlist");
  });

  test("is shown also where a translator has put its own text below the field", async () => {
    const user = setup();
    const line = document.querySelector(".waitlist-message");
    await user.click(button());
    line?.replaceChildren(Object.assign(document.createElement("font"), { textContent: "Fehler" }));
    await user.type(field(), EMAIL);
    await user.click(button());
    await waitFor(() => expect(message()).toMatch(/^You've been added/));
    expect(line?.isConnected).toBe(true);
  });

  test("a browser without AbortSignal.timeout can join", async () => {
    vi.stubGlobal("AbortSignal", {});
    await submit();
    await waitForToast("Success!");
  });

  test("a sign-up that is not answered ends after 60 seconds like any other failure", async () => {
    const timeout = new AbortController();
    const asked = vi.spyOn(AbortSignal, "timeout").mockReturnValue(timeout.signal);
    vi.stubGlobal("fetch", (_url: string, { signal }: RequestInit) => {
      return new Promise((_, reject) => signal?.addEventListener("abort", reject));
    });
    await submit();
    expect(asked).toHaveBeenCalledExactlyOnceWith(60_000);
    act(() => timeout.abort());
    await waitForToast("Error");
    expectError("Failed to add to waitlist. Please try again.");
  });
});

test("after a success the button has the focus, so that no keyboard covers the toast", async () => {
  await submit();
  await waitForToast("Success!");
  await waitFor(() => expect(document.activeElement).toBe(button()));
});
