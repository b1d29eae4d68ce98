import { act, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { renderToString } from "react-dom/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { advance, setWindowFocus } from "../test/setup";
import { FAILED, SAVED } from "../test/toasts";
import { dismissToast, getSnapshot, showToast } from "../toast-store";
import Toaster from "./toaster";

const DURATION_MS = 5000;
const SWIPE_THRESHOLD_PX = 50;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(dismissToast);

describe("toaster", () => {
  test("§4 shows a toast's title and text", () => {
    render(<Toaster />);
    expect(toastElement()).toBeNull();
    show(SAVED);
    expect(screen.getByText(SAVED.title)).toBeTruthy();
    expect(screen.getByText(SAVED.text)).toBeTruthy();
  });

  test("§4 a toast carries its variant as an attribute", () => {
    render(<Toaster />);
    show(SAVED);
    expect(toastElement()?.dataset["variant"]).toBe("default");
    show(FAILED);
    expect(toastElement()?.dataset["variant"]).toBe("destructive");
  });

  test("§4 shows a toast that was opened before the toaster rendered", () => {
    show(SAVED);
    render(<Toaster />);
    expect(toastElement()?.textContent).toContain(SAVED.text);
  });

  test("§9 shows only the newest toast", () => {
    render(<Toaster />);
    show(SAVED);
    show(FAILED);
    expect(document.querySelectorAll(".toast")).toHaveLength(1);
    expect(toastElement()?.textContent).toContain(FAILED.text);
  });

  test("§9 a toast closes after exactly 5000 ms", () => {
    render(<Toaster />);
    show(SAVED);
    advance(DURATION_MS - 1);
    expect(toastElement()).not.toBeNull();
    advance(1);
    expect(toastElement()).toBeNull();
    expect(getSnapshot()).toMatchObject({ ...SAVED, open: false });
  });

  test("§9 a replacement stays open for its own 5000 ms", () => {
    render(<Toaster />);
    show(SAVED);
    advance(DURATION_MS - 1);
    show(FAILED);
    advance(DURATION_MS - 1);
    expect(toastElement()).not.toBeNull();
    advance(1);
    expect(toastElement()).toBeNull();
  });

  test("§4 the close button closes the toast", async () => {
    const user = renderToaster();
    show(SAVED);
    await user.click(closeButton());
    expect(toastElement()).toBeNull();
    expect(getSnapshot()).toMatchObject({ open: false });
  });

  test("§9 a toast stays open under the pointer and closes within 5000 ms of its leaving", async () => {
    const user = renderToaster();
    show(SAVED);
    await user.hover(screen.getByText(SAVED.text));
    advance(2 * DURATION_MS);
    expect(toastElement()).not.toBeNull();
    fireEvent.pointerLeave(screen.getByRole("region"));
    advance(DURATION_MS);
    expect(toastElement()).toBeNull();
  });

  test.each(["pointer", "keyboard"])(
    "§9 a toast closes after 5000 ms even if the previous one was closed by %s",
    async (by) => {
      const user = renderToaster();
      show(SAVED);
      if (by === "pointer") await user.click(closeButton());
      else await user.keyboard("[F8]{Tab}{Tab}{Enter}");
      expect(toastElement()).toBeNull();
      await user.click(document.body);
      show(FAILED);
      advance(DURATION_MS);
      expect(toastElement()).toBeNull();
    },
  );

  test("§9 F8 moves the focus to the toast", async () => {
    const user = renderToaster();
    show(SAVED);
    await user.keyboard("[F8]");
    expect(screen.getByRole("region").contains(document.activeElement)).toBe(true);
  });

  test("F8 does nothing while no toast is open", async () => {
    const user = renderToaster();
    await user.keyboard("[F8]");
    expect(document.activeElement).toBe(document.body);
    show(SAVED);
    await user.click(closeButton());
    await user.click(document.body);
    await user.keyboard("[F8]");
    expect(document.activeElement).toBe(document.body);
  });

  test.each([
    ["Enter on its button", "[F8]{Tab}{Tab}{Enter}"],
    ["Escape", "[F8]{Tab}{Escape}"],
    ["Enter, reached with Tab", "{Tab}{Tab}{Enter}"],
  ])("closing a toast with %s returns the focus to its previous element", async (_how, keys) => {
    render(<button type="button">before</button>);
    const user = renderToaster();
    const before = screen.getByRole("button", { name: "before" });
    before.focus();
    show(SAVED);
    await user.keyboard(keys);
    expect(toastElement()).toBeNull();
    expect(document.activeElement).toBe(before);
  });

  test("closing a toast with a click returns the focus to its previous element", async () => {
    render(<button type="button">before</button>);
    const user = renderToaster();
    const before = screen.getByRole("button", { name: "before" });
    before.focus();
    show(SAVED);
    await user.click(closeButton());
    expect(toastElement()).toBeNull();
    expect(document.activeElement).toBe(before);
  });

  test("closing a toast returns the focus also after the visitor was in another window", async () => {
    render(<button type="button">before</button>);
    const user = renderToaster();
    const before = screen.getByRole("button", { name: "before" });
    before.focus();
    show(SAVED);
    await user.keyboard("[F8]");
    const focused = document.activeElement ?? document.body;
    setWindowFocus(false);
    setWindowFocus(true);
    fireEvent.focusIn(focused, { relatedTarget: null });
    await user.keyboard("{Escape}");
    expect(toastElement()).toBeNull();
    expect(document.activeElement).toBe(before);
  });

  test("a closed toast leaves no element for the next one to return the focus to", async () => {
    render(<button type="button">before</button>);
    const user = renderToaster();
    screen.getByRole("button", { name: "before" }).focus();
    show(SAVED);
    await user.keyboard("[F8]{Escape}");
    await user.click(document.body);
    show(FAILED);
    await user.keyboard("[F8]{Escape}");
    expect(document.activeElement).toBe(document.body);
  });

  test("a toast stays open while the visitor is in another window", () => {
    render(<Toaster />);
    show(SAVED);
    setWindowFocus(false);
    advance(10 * DURATION_MS);
    expect(toastElement()).not.toBeNull();
    setWindowFocus(true);
    advance(DURATION_MS - 1);
    expect(toastElement()).not.toBeNull();
    advance(1);
    expect(toastElement()).toBeNull();
  });

  test("§9 there is a region only with a toast, and its name includes its shortcut", () => {
    render(<Toaster />);
    expect(screen.queryByRole("region")).toBeNull();
    show(SAVED);
    expect(screen.getByRole("region", { name: "Notifications (F8)" })).toBeTruthy();
  });

  test("§9 only a swipe to the right of more than 50 pixels closes a toast", () => {
    render(<Toaster />);
    show(SAVED);
    swipe(SWIPE_THRESHOLD_PX, 0);
    expect(toastElement()).not.toBeNull();
    swipe(-2 * SWIPE_THRESHOLD_PX, 0);
    expect(toastElement()).not.toBeNull();
    swipe(0, 2 * SWIPE_THRESHOLD_PX);
    expect(toastElement()).not.toBeNull();
    swipe(SWIPE_THRESHOLD_PX + 1, 0);
    expect(toastElement()).toBeNull();
  });

  test("§4 a toast is announced politely", () => {
    render(<Toaster />);
    show(SAVED);
    advance(1000 / 60);
    expect(screen.getByRole("status").getAttribute("aria-live")).toBe("polite");
  });

  test("renders nothing on the server", () => {
    expect(renderToString(<Toaster />)).toBe("");
  });
});

function renderToaster() {
  render(<Toaster />);
  return userEvent.setup({ advanceTimers: vi.advanceTimersByTime });
}

function show(toast: typeof SAVED | typeof FAILED) {
  act(() => showToast(toast));
}

function toastElement() {
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
