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

interface Heights {
  section?: number;
  window?: number;
}

/** Scrolls until this share of each observed section is in view. Heights are in pixels. */
export function scrollTo(share: number, { section = 600, window = 800 }: Heights = {}) {
  act(() => {
    for (const observer of observers) observer.scroll(share, section, window);
  });
}

/** Calls back as a browser does: only when the visible share crosses one of the thresholds. */
class FakeIntersectionObserver implements IntersectionObserver {
  readonly root = null;
  readonly rootMargin = "0px";
  readonly scrollMargin = "0px";
  readonly thresholds: readonly number[];
  readonly #callback: IntersectionObserverCallback;
  /** The number of thresholds that each target has reached. */
  readonly #reached = new Map<Element, number>();

  constructor(callback: IntersectionObserverCallback, options: IntersectionObserverInit = {}) {
    this.#callback = callback;
    this.thresholds = [options.threshold ?? 0].flat();
    observers.add(this);
  }

  observe(target: Element) {
    this.#reached.set(target, -1);
  }

  unobserve(target: Element) {
    this.#reached.delete(target);
  }

  disconnect() {
    this.#reached.clear();
  }

  takeRecords() {
    return [];
  }

  scroll(share: number, section: number, window: number) {
    const isVisible = share > 0;
    const reached = isVisible ? this.thresholds.filter((value) => value <= share).length : 0;
    for (const [target, before] of this.#reached) {
      if (reached === before) continue;
      this.#reached.set(target, reached);
      const entry: IntersectionObserverEntry = {
        target,
        time: 0,
        isIntersecting: isVisible,
        intersectionRatio: share,
        intersectionRect: new DOMRect(0, 0, 0, share * section),
        boundingClientRect: new DOMRect(0, 0, 0, section),
        rootBounds: new DOMRect(0, 0, 0, window),
      };
      this.#callback([entry], this);
    }
  }
}
