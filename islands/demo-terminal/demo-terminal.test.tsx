import { render, screen } from "@testing-library/react";
import { renderToString } from "react-dom/server";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { advance, preferReducedMotion, scrollTo } from "../test/setup";
import DemoTerminal from "./demo-terminal";

const LINES = 9;
const START_DELAY = 1000;
const LINE_INTERVAL = 800;
/** From coming into view to the last line. */
const RUN = START_DELAY + (LINES - 1) * LINE_INTERVAL;

beforeEach(() => {
  vi.useFakeTimers();
});

describe("demo terminal", () => {
  test("§4 has nine lines: a command, six checks, an SMS and a result, all dimmed at first", () => {
    renderInSection();
    expect(lines().map((line) => line.dataset["kind"])).toEqual([
      "command",
      ...Array<string>(6).fill("check"),
      "sms",
      "result",
    ]);
    expectRevealed(0);
  });

  test("§4 the SMS tells of the first customer and of 29.99, the result of a live site", () => {
    renderInSection();
    const [sms, result] = lines().slice(-2);
    expect(sms?.textContent).toMatch(/first customer.*29\.99/i);
    expect(result?.textContent).toMatch(/live at/i);
  });

  test("§4 reveals the first line exactly 1000 ms after half of the section came into view", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY - 1);
    expectRevealed(0);
    advance(1);
    expectRevealed(1);
  });

  test("§4 reveals one more line each 800 ms, in order, and then stops", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY);
    for (let revealed = 1; revealed < LINES; revealed += 1) {
      advance(LINE_INTERVAL - 1);
      expectRevealed(revealed);
      advance(1);
      expectRevealed(revealed + 1);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§9 less than half of the section in view starts nothing", () => {
    renderInSection();
    scrollTo(0.49);
    expect(vi.getTimerCount()).toBe(0);
    advance(RUN);
    expectRevealed(0);
  });

  test("§4 it is the section around the terminal that must be in view", () => {
    renderInSection();
    const observe = vi.spyOn(IntersectionObserver.prototype, "observe");
    renderInSection();
    expect(observe).toHaveBeenCalledExactlyOnceWith(document.querySelectorAll("section")[1]);
  });

  test("§4 leaving during the delay doesn't stop the run", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY / 2);
    scrollTo(0);
    advance(RUN - START_DELAY / 2);
    expectRevealed(LINES);
  });

  test("§4 leaving midway and coming back neither stops the run nor starts a second one", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY + 2 * LINE_INTERVAL);
    scrollTo(0);
    advance(LINE_INTERVAL);
    expectRevealed(4);
    scrollTo(1);
    expect(vi.getTimerCount()).toBe(1);
    advance(LINE_INTERVAL);
    expectRevealed(5);
    advance(4 * LINE_INTERVAL);
    expectRevealed(LINES);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§4 staying in view after the end doesn't replay, however much is in view", () => {
    renderInSection();
    scrollTo(0.5);
    advance(RUN);
    for (const share of [1, 0.7, 0.5, 0.9]) scrollTo(share);
    expect(vi.getTimerCount()).toBe(0);
    expectRevealed(LINES);
  });

  test("§4 coming back after the end plays again, from the first line", () => {
    renderInSection();
    scrollTo(0.5);
    advance(RUN);
    scrollTo(0.2);
    expect(vi.getTimerCount()).toBe(0);
    scrollTo(0.5);
    advance(START_DELAY - 1);
    expectRevealed(LINES);
    advance(1);
    expectRevealed(1);
    advance(LINE_INTERVAL);
    expectRevealed(2);
    advance(7 * LINE_INTERVAL);
    expectRevealed(LINES);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("the server sends all lines revealed, for those whom this script does not reach", () => {
    const markup = renderToString(<DemoTerminal />);
    expect(markup.match(/data-state="shown"/g)).toHaveLength(LINES);
  });

  test("§4 who prefers reduced motion gets all lines at once, and no timers", () => {
    preferReducedMotion();
    renderInSection();
    expectRevealed(LINES);
    scrollTo(0.5);
    expectRevealed(LINES);
    expect(vi.getTimerCount()).toBe(0);
    scrollTo(0);
    scrollTo(0.5);
    expectRevealed(LINES);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["during the delay", START_DELAY / 2],
    ["midway", START_DELAY + 2 * LINE_INTERVAL],
  ])("§4 unmounting %s clears the timer", (_when, milliseconds) => {
    const { unmount } = renderInSection();
    scrollTo(0.5);
    advance(milliseconds);
    expect(vi.getTimerCount()).toBe(1);
    unmount();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§4 nothing starts after unmounting", () => {
    renderInSection().unmount();
    scrollTo(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([2.1, 3, 5])(
    "§4 a section %d windows tall starts when it fills the window, scrolled pixel by pixel",
    (windows) => {
      const window = 400;
      const section = windows * window;
      renderInSection();
      for (let pixels = 0; pixels < 0.9 * window; pixels += 1)
        scrollTo(pixels / section, { section, window });
      expect(vi.getTimerCount()).toBe(0);
      for (let pixels = 0.9 * window; pixels <= window; pixels += 1)
        scrollTo(pixels / section, { section, window });
      expect(vi.getTimerCount()).toBe(1);
    },
  );
});

function renderInSection() {
  return render(
    <section>
      <DemoTerminal />
    </section>,
  );
}

function lines() {
  return screen.getAllByRole("listitem");
}

/** The first `count` lines are shown and the others are dimmed. */
function expectRevealed(count: number) {
  const states = lines().map((line) => line.dataset["state"]);
  const expected = states.map((_, index) => (index < count ? "shown" : "dimmed"));
  expect(states).toEqual(expected);
  expect(states).toHaveLength(LINES);
}
