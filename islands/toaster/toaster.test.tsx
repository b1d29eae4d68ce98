import { act, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { renderToString } from "react-dom/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { advance, setWindowFocus } from "../test/setup";
import { dismiss, snapshot, toast } from "../toast-store";
import Toaster from "./toaster";

const DURATION = 5000;
const SWIPE_THRESHOLD = 50;
const SAVED = { title: "Saved", text: "All is well.", variant: "default" } as const;
const FAILED = { title: "Error", text: "All is lost.", variant: "destructive" } as const;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  for (const { id } of snapshot()) dismiss(id);
});

describe("toaster", () => {
  test("§4 shows a toast's title and text", () => {
    render(<Toaster />);
    expect(shown()).toBeNull();
    show(SAVED);
    expect(screen.getByText(SAVED.title)).toBeTruthy();
    expect(screen.getByText(SAVED.text)).toBeTruthy();
  });

  test("§4 a toast has its variant as an attribute", () => {
    render(<Toaster />);
    show(SAVED);
    expect(shown()?.dataset["variant"]).toBe("default");
    show(FAILED);
    expect(shown()?.dataset["variant"]).toBe("destructive");
  });

  test("§4 shows a toast that was there before it", () => {
    show(SAVED);
    render(<Toaster />);
    expect(shown()?.textContent).toContain(SAVED.text);
  });

  test("§9 shows one toast at a time, the newest", () => {
    render(<Toaster />);
    show(SAVED);
    show(FAILED);
    expect(document.querySelectorAll(".toast")).toHaveLength(1);
    expect(shown()?.textContent).toContain(FAILED.text);
  });

  test("§9 a toast closes after 5000 ms, not before", () => {
    render(<Toaster />);
    show(SAVED);
    advance(DURATION - 1);
    expect(shown()).not.toBeNull();
    advance(1);
    expect(shown()).toBeNull();
    expect(snapshot()).toMatchObject([{ ...SAVED, open: false }]);
  });

  test("§9 a toast that takes another's place has 5000 ms of its own", () => {
    render(<Toaster />);
    show(SAVED);
    advance(DURATION - 1);
    show(FAILED);
    advance(DURATION - 1);
    expect(shown()).not.toBeNull();
    advance(1);
    expect(shown()).toBeNull();
  });

  test("§4 the close button closes the toast", async () => {
    const user = setup();
    show(SAVED);
    await user.click(closeButton());
    expect(shown()).toBeNull();
    expect(snapshot()).toMatchObject([{ open: false }]);
  });

  test("§9 a toast waits under the pointer, and closes when the pointer has left", async () => {
    const user = setup();
    show(SAVED);
    await user.hover(screen.getByText(SAVED.text));
    advance(2 * DURATION);
    expect(shown()).not.toBeNull();
    fireEvent.pointerLeave(screen.getByRole("region"));
    advance(DURATION);
    expect(shown()).toBeNull();
  });

  test.each(["pointer", "keyboard"])(
    "§9 a toast closes after 5000 ms also when the one before was closed by %s",
    async (by) => {
      const user = setup();
      show(SAVED);
      if (by === "pointer") await user.click(closeButton());
      else await user.keyboard("[F8]{Tab}{Tab}{Enter}");
      expect(shown()).toBeNull();
      await user.click(document.body);
      show(FAILED);
      advance(DURATION);
      expect(shown()).toBeNull();
    },
  );

  test("§9 F8 moves the focus to the toast", async () => {
    const user = setup();
    show(SAVED);
    await user.keyboard("[F8]");
    expect(screen.getByRole("region").contains(document.activeElement)).toBe(true);
  });

  test("F8 does nothing when there is no open toast", async () => {
    const user = setup();
    await user.keyboard("[F8]");
    expect(document.activeElement).toBe(document.body);
    show(SAVED);
    await user.click(closeButton());
    await user.click(document.body);
    await user.keyboard("[F8]");
    expect(document.activeElement).toBe(document.body);
  });

  test.each([
    ["Enter on its button", "{Tab}{Tab}{Enter}"],
    ["Escape", "{Tab}{Escape}"],
  ])("closing a toast with %s returns the focus to where it was", async (_how, keys) => {
    render(<button type="button">before</button>);
    const user = setup();
    const before = screen.getByRole("button", { name: "before" });
    before.focus();
    show(SAVED);
    await user.keyboard(`[F8]${keys}`);
    expect(shown()).toBeNull();
    expect(document.activeElement).toBe(before);
  });

  test("a toast that opens while the visitor is in another window waits for the visitor", () => {
    setWindowFocus(false);
    render(<Toaster />);
    show(SAVED);
    advance(10 * DURATION);
    expect(shown()).not.toBeNull();
    setWindowFocus(true);
    advance(DURATION - 1);
    expect(shown()).not.toBeNull();
    advance(1);
    expect(shown()).toBeNull();
  });

  test("§9 the toasts' region is named, with its shortcut", () => {
    render(<Toaster />);
    expect(screen.getByRole("region", { name: "Notifications (F8)" })).toBeTruthy();
  });

  test("§9 a swipe to the right of more than 50 pixels closes the toast, any other doesn't", () => {
    render(<Toaster />);
    show(SAVED);
    swipe(SWIPE_THRESHOLD, 0);
    expect(shown()).not.toBeNull();
    swipe(-2 * SWIPE_THRESHOLD, 0);
    expect(shown()).not.toBeNull();
    swipe(0, 2 * SWIPE_THRESHOLD);
    expect(shown()).not.toBeNull();
    swipe(SWIPE_THRESHOLD + 1, 0);
    expect(shown()).toBeNull();
  });

  test("§4 a toast is announced politely", () => {
    render(<Toaster />);
    show(SAVED);
    advance(1000 / 60);
    expect(screen.getByRole("status").getAttribute("aria-live")).toBe("polite");
  });

  test("is nothing at all without JavaScript", () => {
    expect(renderToString(<Toaster />)).toBe("");
  });
});

function setup() {
  render(<Toaster />);
  return userEvent.setup({ advanceTimers: vi.advanceTimersByTime });
}

function show(shown: typeof SAVED | typeof FAILED) {
  act(() => toast(shown));
}

function shown() {
  return document.querySelector<HTMLElement>(".toast");
}

function closeButton() {
  return screen.getByRole("button", { name: "Close" });
}

function swipe(x: number, y: number) {
  const target = screen.getByText(SAVED.text);
  fireEvent.pointerDown(target, { button: 0, clientX: 0, clientY: 0 });
  for (const share of [0.25, 0.5, 1])
    fireEvent.pointerMove(target, { clientX: x * share, clientY: y * share });
  fireEvent.pointerUp(target, { clientX: x, clientY: y });
}
