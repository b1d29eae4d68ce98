/**
 * Runs before each test file: adds the browser features that jsdom lacks. A test that logs an error or a
 * warning fails.
 */
import { act, cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach, expect, vi } from "vitest";

// Long enough for a busy machine. Only a failing test waits this long.
configure({ asyncUtilTimeout: 5000 });

let reducedMotion = false;
let windowHasFocus = true;
const observers = new Set<FakeIntersectionObserver>();

Object.assign(Element.prototype, {
  scrollIntoView() {},
  setPointerCapture() {},
  releasePointerCapture() {},
  hasPointerCapture: () => false,
});

beforeEach(() => {
  reducedMotion = false;
  windowHasFocus = true;
  vi.spyOn(document, "hasFocus").mockImplementation(() => windowHasFocus);
  vi.stubGlobal("IntersectionObserver", FakeIntersectionObserver);
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: query === "(prefers-reduced-motion: reduce)" && reducedMotion,
  }));
  // Testing Library advances fake timers only if there is a global of this name.
  vi.stubGlobal("jest", { advanceTimersByTime: vi.advanceTimersByTime });
  vi.spyOn(console, "error");
  vi.spyOn(console, "warn");
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  observers.clear();
  document.body.replaceChildren();
  expect(console.error).not.toHaveBeenCalled();
  expect(console.warn).not.toHaveBeenCalled();
});

/**
 * Captures the console errors that a test expects. `take` returns and clears them. Errors that are left
 * after the test make it fail.
 */
export function captureErrors(): { take: () => unknown[][] } {
  const error = vi.mocked(console.error).mockImplementation(() => {});
  return {
    take() {
      const { calls } = error.mock;
      error.mockClear();
      return calls;
    },
  };
}

export function preferReducedMotion() {
  reducedMotion = true;
}

/** Simulates a visitor who leaves the window or comes back to it. */
export function setWindowFocus(hasFocus: boolean) {
  windowHasFocus = hasFocus;
  act(() => void window.dispatchEvent(new Event(hasFocus ? "focus" : "blur")));
}

/** The longest time without a render, in milliseconds. A timer that a render sets starts at the end of a step. */
const STEP_MS = 100;

export function advance(milliseconds: number) {
  for (let rest = milliseconds; rest > 0; rest -= STEP_MS)
    act(() => vi.advanceTimersByTime(Math.min(STEP_MS, rest)));
}

/** Scrolls until this share of each observed section is in view. */
export function scrollTo(share: number) {
  act(() => {
    for (const observer of observers) observer.scroll(share);
  });
}

/** Calls back as a browser does: only when the visible share crosses the threshold. */
class FakeIntersectionObserver {
  readonly #callback: (entries: { intersectionRatio: number }[]) => void;
  readonly #threshold: number;
  #isReached: boolean | undefined;

  constructor(callback: () => void, { threshold }: { threshold: number }) {
    this.#callback = callback;
    this.#threshold = threshold;
  }

  observe() {
    observers.add(this);
  }

  disconnect() {
    observers.delete(this);
  }

  scroll(share: number) {
    const isReached = share >= this.#threshold;
    if (isReached === this.#isReached) return;
    this.#isReached = isReached;
    this.#callback([{ intersectionRatio: share }]);
  }
}
