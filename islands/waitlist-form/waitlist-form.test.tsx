import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { queryClient } from "../query";
import { scrollTo } from "../test/setup";
import { dismiss, snapshot, subscribe } from "../toast-store";
import WaitlistForm from "./waitlist-form";

const EMAIL = "ada@example.com";
/** Also what `replace` would take for a pattern stands as it is. */
const PRODUCT = "Steward $& Co";
const PRERENDERED_COUNT = 41;
const PROMISE = "We'll email you once, when Steward $& Co is ready.";

const count = vi.fn<() => Promise<Response>>();
const join = vi.fn<(entry: unknown) => Promise<Response>>();
/** The form posting itself, which is the page's and not the API's. */
const posted = vi.fn<(body: string) => Promise<Response>>();

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

describe("the count", () => {
  test("§7 is the server's, and not asked for, before the section is in view", async () => {
    setup();
    scrollTo(0);
    await new Promise(setImmediate);
    expect(count).not.toHaveBeenCalled();
    await findCount(PRERENDERED_COUNT);
  });

  test("§7 is asked for once the section shows, and only once", async () => {
    setup();
    scrollTo(0.01);
    await findCount(42);
    for (const share of [0, 1, 0, 1]) scrollTo(share);
    window.dispatchEvent(new Event("focus"));
    window.dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    await new Promise(setImmediate);
    expect(count).toHaveBeenCalledOnce();
  });

  test("is hidden below the number that the owner has set, and its dot lives above 0", async () => {
    count.mockImplementation(async () => Response.json({ count: 4 }));
    setup({ countFrom: 5 });
    scrollTo(1);
    await waitFor(() => expect(countLine()?.dataset["state"]).toBe("hidden"));
    count.mockImplementation(async () => Response.json({ count: 5 }));
    await queryClient.refetchQueries();
    await waitFor(() => expect(countLine()?.dataset["state"]).toBe("live"));
  });

  test("has no live dot while nobody is on the list", async () => {
    count.mockImplementation(async () => Response.json({ count: 0 }));
    setup();
    scrollTo(1);
    await waitFor(() => expect(countLine()?.dataset["state"]).toBe("empty"));
  });

  test("§3 is 0 when the answer has none", async () => {
    count.mockImplementation(async () => Response.json({}));
    setup();
    scrollTo(1);
    await findCount(0);
  });

  test.each([
    ["answers 500", async () => new Response("oops", { status: 500 })],
    ["can't be reached", () => Promise.reject(new TypeError("Failed to fetch"))],
  ])("§3 stays what it was when the server %s", async (_what, answer) => {
    count.mockImplementation(answer);
    setup();
    scrollTo(1);
    await waitFor(() =>
      expect(queryClient.getQueryState(["/api/waitlist", "count"])?.status).toBe("error"),
    );
    await findCount(PRERENDERED_COUNT);
    expect(count).toHaveBeenCalledOnce();
    expect(openToasts()).toEqual([]);
  });
});

function setup({ email = "", countFrom = 0 } = {}) {
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

async function submit() {
  const user = setup();
  await user.type(field(), EMAIL);
  await user.click(button());
  return user;
}

/** The next sign-up is answered when the test says so. */
function answerLater(): (response: Response) => void {
  let answer: (response: Response) => void = () => {};
  const answered = new Promise<Response>((resolve) => (answer = resolve));
  join.mockReturnValueOnce(answered);
  return answer;
}

function field() {
  return screen.getByLabelText<HTMLInputElement>("Email address");
}

function button() {
  return screen.getByRole<HTMLButtonElement>("button");
}

/** What the button reads. */
function label() {
  return button().textContent;
}

/** What stands below the field, and describes it. */
function message() {
  const id = field().getAttribute("aria-describedby") ?? "";
  return document.getElementById(id)?.textContent;
}

/** The count line, once it has this number. */
async function findCount(number: number) {
  const line = `${number} entrepreneurs already on the list`;
  await waitFor(() => expect(countLine()?.textContent).toBe(line));
}

function countLine() {
  return document.querySelector<HTMLElement>(".waitlist-count");
}

function form() {
  return field().closest("form") ?? document.body;
}

function openToasts() {
  return snapshot().filter(({ open }) => open);
}

async function waitForToast(title: string) {
  await waitFor(() => expect(openToasts()).toMatchObject([{ title }]));
}

function expectError(text: string) {
  expect(openToasts()).toMatchObject([{ title: "Error", text, variant: "destructive" }]);
}
