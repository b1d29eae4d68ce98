/** Runs before each test: what jsdom lacks of a browser, and a console that must stay silent. */
import { act, cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach, expect, vi } from "vitest";

// Only a failure waits this long; a busy machine must not make one.
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
  // Testing Library advances fake timers by this name only.
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

/** The test expects errors in the console: takes them, and keeps them off the screen. */
export function expectErrors(): { taken: () => unknown[][] } {
  const error = vi.mocked(console.error).mockImplementation(() => {});
  return {
    taken() {
      const { calls } = error.mock;
      error.mockClear();
      return calls;
    },
  };
}

export function preferReducedMotion() {
  reducedMotion = true;
}

/** The visitor goes to another window, or comes back. */
export function setWindowFocus(has: boolean) {
  windowHasFocus = has;
  act(() => void window.dispatchEvent(new Event(has ? "focus" : "blur")));
}

export function advance(milliseconds: number) {
  act(() => vi.advanceTimersByTime(milliseconds));
}

interface Heights {
  section?: number;
  window?: number;
}

/** Scrolls until this share of what is observed is in view; heights in pixels. */
export function scrollTo(share: number, { section = 600, window = 800 }: Heights = {}) {
  act(() => {
    for (const observer of observers) observer.scroll(share, section, window);
  });
}

/** Calls back as a browser does: only when the share in view passes one of the thresholds. */
class FakeIntersectionObserver implements IntersectionObserver {
  readonly root = null;
  readonly rootMargin = "0px";
  readonly scrollMargin = "0px";
  readonly thresholds: readonly number[];
  readonly #callback: IntersectionObserverCallback;
  readonly #passed = new Map<Element, number>();

  constructor(callback: IntersectionObserverCallback, options: IntersectionObserverInit = {}) {
    this.#callback = callback;
    this.thresholds = [options.threshold ?? 0].flat();
    observers.add(this);
  }

  observe(target: Element) {
    this.#passed.set(target, -1);
  }

  unobserve(target: Element) {
    this.#passed.delete(target);
  }

  disconnect() {
    this.#passed.clear();
  }

  takeRecords() {
    return [];
  }

  scroll(share: number, section: number, window: number) {
    const passed = share > 0 ? this.thresholds.filter((threshold) => threshold <= share).length : 0;
    for (const [target, before] of this.#passed) {
      if (passed === before) continue;
      this.#passed.set(target, passed);
      const entry: IntersectionObserverEntry = {
        target,
        time: 0,
        isIntersecting: share > 0,
        intersectionRatio: share,
        intersectionRect: new DOMRect(0, 0, 0, share * section),
        boundingClientRect: new DOMRect(0, 0, 0, section),
        rootBounds: new DOMRect(0, 0, 0, window),
      };
      this.#callback([entry], this);
    }
  }
}
