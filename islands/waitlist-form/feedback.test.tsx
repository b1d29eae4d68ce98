import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { openToast } from "../test/toasts";
import { dismissToast, subscribe } from "../toast-store";
import {
  button,
  EMAIL,
  expectErrorToast,
  field,
  form,
  holdResponse,
  message,
  MESSAGES,
  postSignUp,
  renderForm,
  respondToSignUps,
  signUp,
  waitForToast,
  waitUntilEnabled,
} from "../test/waitlist-form-fixtures";

describe("an invalid address", () => {
  test("an empty field is marked until the visitor types", async () => {
    const user = renderForm();
    expect(ariaInvalid()).toBe("false");
    await user.click(button());
    expect(ariaInvalid()).toBe("true");
    await user.type(field(), "a");
    expect(ariaInvalid()).toBe("false");
  });

  test("an address that the server rejects is marked until the next submit", async () => {
    postSignUp.mockResolvedValueOnce(new Response("no address", { status: 400 }));
    const user = await signUp();
    await waitForToast("Error");
    expect(ariaInvalid()).toBe("true");
    const respond = holdResponse(postSignUp);
    await waitUntilEnabled();
    await user.click(button());
    await waitFor(() => expect(button().disabled).toBe(true));
    expect(ariaInvalid()).toBe("false");
    respond(Response.json({}));
    await waitForToast("Success!");
  });

  test.each([409, 500])("the address is not marked after a %d", async (status) => {
    respondToSignUps(status);
    await signUp();
    await waitForToast("Error");
    expect(ariaInvalid()).toBe("false");
  });

  test("an address that the browser rejects is marked and explained", async () => {
    renderForm();
    fireEvent.invalid(field());
    await waitFor(() => expect(message()).toBe(MESSAGES.invalid));
    expect(ariaInvalid()).toBe("true");
  });

  test("deleting an address that the browser rejects removes the message", async () => {
    renderForm();
    fireEvent.change(field(), { target: { value: "abc" } });
    fireEvent.invalid(field());
    await waitFor(() => expect(message()).toBe(MESSAGES.invalid));
    field().value = "";
    fireEvent.input(field());
    await waitFor(() => expect(message()).toBe(MESSAGES.promise));
  });
});

describe("the message below the field", () => {
  test.each([
    ["an empty field", undefined, MESSAGES.empty],
    ["a 400", 400, MESSAGES.invalid],
    ["a 409", 409, MESSAGES.listed],
    ["a 500", 500, MESSAGES.failed],
    ["a success", 201, MESSAGES.joined],
  ])("after %s stays until the visitor types", async (_what, status, text) => {
    if (status) respondToSignUps(status, "{}");
    const user = renderForm();
    expect(message()).toBe(MESSAGES.promise);
    if (status) await user.type(field(), EMAIL);
    await user.click(button());
    await waitFor(() => expect(message()).toBe(text));
    await waitUntilEnabled();
    act(dismissToast);
    expect(message()).toBe(text);
    await user.type(field(), "c");
    expect(message()).toBe(MESSAGES.promise);
  });

  test("stays when a password manager dispatches input without a change", async () => {
    respondToSignUps(409);
    await signUp();
    await waitForToast("Error");
    fireEvent.input(field());
    expect(message()).toBe(MESSAGES.listed);
  });

  test("of the server's page stays until the posted text changes, also when all of it is deleted", () => {
    renderForm({ outcome: "failed", email: EMAIL, message: MESSAGES.listed });
    fireEvent.input(field());
    expect(message()).toBe(MESSAGES.listed);
    field().value = "";
    fireEvent.input(field());
    expect(message()).toBe(MESSAGES.promise);
  });

  test("replaces text that a translator inserted", async () => {
    const user = renderForm();
    const line = document.querySelector(".waitlist-message");
    await user.click(button());
    line?.replaceChildren(Object.assign(document.createElement("font"), { textContent: "Fehler" }));
    await user.type(field(), EMAIL);
    await user.click(button());
    await waitFor(() => expect(message()).toMatch(/^You've been added/));
    expect(line?.isConnected).toBe(true);
  });
});

describe("the title of a page that the server has sent after a post", () => {
  const TITLE = "Steward: an agent that runs a business";

  beforeEach(() => {
    document.title = "Error: Email already on waitlist — Steward";
    const meta = document.head.appendChild(document.createElement("meta"));
    meta.setAttribute("property", "og:title");
    meta.content = TITLE;
    return () => meta.remove();
  });

  test("stays while the outcome stays, and is the usual one from the next on", async () => {
    const user = renderForm({ outcome: "failed", email: EMAIL, message: MESSAGES.listed });
    expect(document.title).toMatch(/^Error/);
    await user.type(field(), "x");
    expect(document.title).toBe(TITLE);
    await user.click(button());
    await waitForToast("Success!");
    expect(document.title).toBe(TITLE);
  });

  test("stays if nothing was posted: a translator may have changed it", async () => {
    document.title = "Steward: ein Agent";
    await signUp();
    await waitForToast("Success!");
    expect(document.title).toBe("Steward: ein Agent");
  });
});

describe("a success", () => {
  test("is marked until the visitor types", async () => {
    const user = await signUp();
    await waitForToast("Success!");
    expect(form().dataset["outcome"]).toBe("joined");
    await waitUntilEnabled();
    await user.type(field(), "b");
    expect(form().dataset["outcome"]).toBe("");
  });

  test("does not become an error through a second click", async () => {
    const user = await signUp();
    await waitForToast("Success!");
    await waitUntilEnabled();
    await user.click(button());
    expect(message()).toMatch(/^You've been added/);
    expect(form().dataset["outcome"]).toBe("joined");
    expect(postSignUp).toHaveBeenCalledOnce();
  });

  test("moves the focus to the button, to keep a phone's keyboard off the toast", async () => {
    await signUp();
    await waitForToast("Success!");
    await waitFor(() => expect(document.activeElement).toBe(button()));
  });
});

describe("the focus", () => {
  test("waits on the status while the sign-up is pending, and returns to the field", async () => {
    const respond = holdResponse(postSignUp);
    await signUp();
    await waitFor(() => expect(document.activeElement).toBe(screen.getByRole("status")));
    expect(document.activeElement?.textContent).toBe("Adding...");
    expect(button().getAttribute("aria-busy")).toBe("true");
    respond(new Response("", { status: 500 }));
    await waitFor(() => expect(document.activeElement).toBe(field()));
    expect(button().hasAttribute("aria-busy")).toBe(false);
  });

  test("reaches the field too where a click does not focus the button, as in Safari", async () => {
    respondToSignUps(400);
    const user = renderForm();
    await user.type(field(), EMAIL);
    act(() => field().blur());
    fireEvent.click(button());
    await waitForToast("Error");
    await waitFor(() => expect(document.activeElement).toBe(field()));
  });
});

describe("a toast", () => {
  test.each([
    ["the browser rejects the next address", () => fireEvent.invalid(field())],
    ["the next address is sent", () => fireEvent.submit(form())],
  ])("closes when %s", async (_what, act) => {
    const user = await signUp();
    await waitForToast("Success!");
    await waitUntilEnabled();
    await user.type(field(), "b@example.com");
    holdResponse(postSignUp);
    act();
    expect(openToast()).toBeUndefined();
  });
});

describe("a screen reader", () => {
  test("hears that the address is required", () => {
    renderForm();
    expect(field().getAttribute("aria-required")).toBe("true");
    // The browser would show its own message instead of the toast.
    expect(field().required).toBe(false);
  });

  test("hears an error from the toast alone, and later from the field's description", async () => {
    respondToSignUps(409);
    const user = await signUp();
    await waitFor(() => expect(document.activeElement).toBe(field()));
    expect(field().getAttribute("aria-describedby")).toBeNull();
    await user.tab();
    expect(field().getAttribute("aria-describedby")).not.toBeNull();
  });

  test("hears from the browser alone that it rejects an address", async () => {
    renderForm();
    fireEvent.invalid(field());
    await waitFor(() => expect(ariaInvalid()).toBe("true"));
    expect(field().getAttribute("aria-describedby")).toBeNull();
  });

  test("hears 'Adding...' from the form, and the outcome only from the toast", async () => {
    const unsubscribe = subscribe(() => {});
    const respond = holdResponse(postSignUp);
    await signUp();
    await waitFor(() => expect(status()).toBe("Adding..."));
    respond(new Response("taken", { status: 409 }));
    await waitForToast("Error");
    await waitFor(() => expect(status()).toBe(""));
    unsubscribe();
  });

  test("does not hear an old error while the next sign-up is pending", async () => {
    postSignUp.mockResolvedValueOnce(new Response("no", { status: 500 }));
    const user = await signUp();
    await waitForToast("Error");
    await waitUntilEnabled();
    const respond = holdResponse(postSignUp);
    await user.click(button());
    expect(status()).toBe("Adding...");
    respond(Response.json({}));
    await waitFor(() => expect(status()).toBe(MESSAGES.joined));
  });

  test("hears the outcome from the form if there is no toaster", async () => {
    respondToSignUps(409);
    await signUp();
    await waitFor(() => expect(status()).toBe(MESSAGES.listed));
  });
});

test("a browser that rejects domains in other scripts gets them in ASCII", async () => {
  const user = renderForm();
  await user.type(field(), "ann@bücher.example{Enter}");
  await waitFor(() =>
    expect(postSignUp).toHaveBeenLastCalledWith({ email: "ann@xn--bcher-kva.example" }),
  );
});

describe("the sign-up timeout", () => {
  test("fails a sign-up without a response after 60 seconds", async () => {
    const timeout = new AbortController();
    const createTimeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(timeout.signal);
    vi.stubGlobal("fetch", (_url: string, { signal }: RequestInit) => {
      return new Promise((_, reject) => signal?.addEventListener("abort", reject));
    });
    await signUp();
    expect(createTimeout).toHaveBeenCalledExactlyOnceWith(60_000);
    act(() => timeout.abort());
    await waitForToast("Error");
    expectErrorToast(MESSAGES.failed);
  });

  test("is that of the system in a browser that has none", async () => {
    vi.stubGlobal("AbortSignal", {});
    await signUp();
    await waitForToast("Success!");
  });
});

function ariaInvalid() {
  return field().getAttribute("aria-invalid");
}

/** The text of the live region. */
function status() {
  return screen.getByRole("status").textContent;
}
