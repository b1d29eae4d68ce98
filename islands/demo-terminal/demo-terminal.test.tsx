import { fireEvent, render, type RenderOptions, screen } from "@testing-library/react";
import { renderToString } from "react-dom/server";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { advance, preferReducedMotion, scrollTo } from "../test/setup";
import DemoTerminal from "./demo-terminal";

const START_DELAY_MS = 1000;
const LINE_INTERVAL_MS = 800;
const LINES = 9;
/** The time from coming into view to the last line. */
const RUN_MS = START_DELAY_MS + (LINES - 1) * LINE_INTERVAL_MS;

beforeEach(() => {
  vi.useFakeTimers();
});

describe("demo terminal", () => {
  test("§4 has nine lines, all dimmed at first: a command, six checks, an SMS and a result", () => {
    renderInSection();
    expect(lines().map((line) => line.dataset["kind"])).toEqual([
      "command",
      ...Array<string>(6).fill("check"),
      "sms",
      "result",
    ]);
    expectRevealed(0);
  });

  test("§4 the SMS reports the first customer and 29.99, the result shows a live site", () => {
    renderInSection();
    const [sms, result] = lines().slice(-2);
    expect(sms?.textContent).toMatch(/first customer.*29\.99/i);
    expect(result?.textContent).toMatch(/live at/i);
  });

  test("§4 is not a live region: a screen reader reads the lines when the visitor does", () => {
    renderInSection();
    const LIVE = "[aria-live], [role=status], [role=alert], [role=log], output";
    expect(document.querySelector(LIVE)).toBeNull();
    expect(screen.getByRole("list", { name: "A launch, line by line" })).toBeTruthy();
  });

  test("§4 reveals the first line exactly one start delay after half of the section is in view", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY_MS - 1);
    expectRevealed(0);
    advance(1);
    expectRevealed(1);
  });

  test("§4 reveals one more line per interval, in order, and then stops", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY_MS);
    for (let revealed = 1; revealed < LINES; revealed += 1) {
      advance(LINE_INTERVAL_MS - 1);
      expectRevealed(revealed);
      advance(1);
      expectRevealed(revealed + 1);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§9 does not start while less than half of the section is in view", () => {
    renderInSection();
    scrollTo(0.49);
    expect(vi.getTimerCount()).toBe(0);
    advance(RUN_MS);
    expectRevealed(0);
  });

  test("§4 observes the section around the terminal", () => {
    renderInSection();
    const observe = vi.spyOn(IntersectionObserver.prototype, "observe");
    renderInSection();
    expect(observe).toHaveBeenCalledExactlyOnceWith(document.querySelectorAll("section")[1]);
  });

  test("§4 a run continues if the section leaves the view during the delay", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY_MS / 2);
    scrollTo(0);
    advance(RUN_MS - START_DELAY_MS / 2);
    expectRevealed(LINES);
  });

  test("§4 leaving midway and coming back neither stops the run nor starts a second one", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY_MS + 2 * LINE_INTERVAL_MS);
    scrollTo(0);
    advance(LINE_INTERVAL_MS);
    expectRevealed(4);
    scrollTo(1);
    expect(vi.getTimerCount()).toBe(1);
    advance(LINE_INTERVAL_MS);
    expectRevealed(5);
    advance((LINES - 5) * LINE_INTERVAL_MS);
    expectRevealed(LINES);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§4 does not replay while the section stays in view, at any share of 0.5 or more", () => {
    renderInSection();
    scrollTo(0.5);
    advance(RUN_MS);
    for (const share of [1, 0.7, 0.5, 0.9]) scrollTo(share);
    expect(vi.getTimerCount()).toBe(0);
    expectRevealed(LINES);
  });

  test("§4 replays from the first line when the section comes back after the end", () => {
    renderInSection();
    scrollTo(0.5);
    advance(RUN_MS);
    scrollTo(0.2);
    expect(vi.getTimerCount()).toBe(0);
    scrollTo(0.5);
    advance(START_DELAY_MS - 1);
    expectRevealed(LINES);
    advance(1);
    expectRevealed(1);
    advance(LINE_INTERVAL_MS);
    expectRevealed(2);
    advance((LINES - 2) * LINE_INTERVAL_MS);
    expectRevealed(LINES);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§4 the server renders all lines dimmed, and hydration keeps them", () => {
    const markup = renderToString(
      <section>
        <DemoTerminal />
      </section>,
    );
    expect(markup.match(/data-state="dimmed"/g)).toHaveLength(LINES);
    document.body.innerHTML = markup;
    expectRevealed(0);
    const before = document.body.innerHTML;
    renderInSection({ container: document.body, hydrate: true });
    expect(document.body.innerHTML).toBe(before);
  });

  test("the button pauses a run, and lets it continue", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY_MS + 2 * LINE_INTERVAL_MS);
    press("Pause the demo");
    expect(vi.getTimerCount()).toBe(0);
    advance(RUN_MS);
    expectRevealed(3);
    press("Play the demo");
    advance(LINE_INTERVAL_MS - 1);
    expectRevealed(3);
    advance(1);
    expectRevealed(4);
    advance((LINES - 4) * LINE_INTERVAL_MS);
    expectRevealed(LINES);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a paused run stays so when the section comes back", () => {
    renderInSection();
    scrollTo(0.5);
    advance(START_DELAY_MS);
    press("Pause the demo");
    scrollTo(0);
    scrollTo(1);
    expect(vi.getTimerCount()).toBe(0);
    expectRevealed(1);
  });

  test.each([
    ["before the section is in view", 0],
    ["during the delay", 0.5],
  ])("the button pauses the run %s", (_when, share) => {
    renderInSection();
    scrollTo(share);
    press("Pause the demo");
    scrollTo(0);
    scrollTo(1);
    expect(vi.getTimerCount()).toBe(0);
    press("Play the demo");
    advance(START_DELAY_MS - 1);
    expectRevealed(0);
    advance(1);
    expectRevealed(1);
  });

  test("after the end the button replays from the first line", () => {
    renderInSection();
    scrollTo(0.5);
    advance(RUN_MS);
    press("Replay the demo");
    expectRevealed(0);
    advance(START_DELAY_MS);
    expectRevealed(1);
    expect(screen.getByRole("button", { name: "Pause the demo" })).toBeTruthy();
    advance((LINES - 1) * LINE_INTERVAL_MS);
    expectRevealed(LINES);
    expect(screen.getByRole("button", { name: "Replay the demo" })).toBeTruthy();
  });

  test("§4 with reduced motion shows all lines at once and starts no timer", () => {
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
    ["during the delay", START_DELAY_MS / 2],
    ["midway", START_DELAY_MS + 2 * LINE_INTERVAL_MS],
  ])("§4 unmounting %s clears the timer", (_when, milliseconds) => {
    const { unmount } = renderInSection();
    scrollTo(0.5);
    advance(milliseconds);
    expect(vi.getTimerCount()).toBe(1);
    unmount();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§4 does not start after unmounting", () => {
    renderInSection().unmount();
    scrollTo(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([2.1, 3, 5])(
    "§4 a section %d windows tall starts when it fills most of the window",
    (windows) => {
      vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(windows * innerHeight);
      renderInSection();
      scrollTo(0.79 / windows);
      expect(vi.getTimerCount()).toBe(0);
      scrollTo(0.81 / windows);
      expect(vi.getTimerCount()).toBe(1);
    },
  );

  test("§4 a section that has become taller than the window, by a zoom, starts too", () => {
    renderInSection();
    vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(3 * innerHeight);
    scrollTo(0.3);
    expect(vi.getTimerCount()).toBe(0);
    fireEvent(window, new Event("resize"));
    scrollTo(0.3);
    expect(vi.getTimerCount()).toBe(1);
  });
});

function renderInSection(options?: RenderOptions) {
  return render(
    <section>
      <DemoTerminal />
    </section>,
    options,
  );
}

function press(name: string) {
  fireEvent.click(screen.getByRole("button", { name }));
}

function lines() {
  return screen.getAllByRole("listitem");
}

/** Expects the first `count` lines to be revealed and the others to be dimmed. */
function expectRevealed(count: number) {
  const states = lines().map((line) => line.dataset["state"]);
  const expected = states.map((_, index) => (index < count ? "shown" : "dimmed"));
  expect(states).toEqual(expected);
  expect(states).toHaveLength(LINES);
}
