/** Spec §4 and §9: the demo terminal, in real time. */
import { expect, test } from "./fixtures.ts";
import { eventually, type Visitor } from "./visitor.ts";

const START_DELAY = 1000;
const LINE_INTERVAL = 800;
const LINES = 9;
/** A busy machine may show a line this much later than its timer, and so closer to the next line. */
const BUSY = 600;

const dimmed = (visitor: Visitor) => visitor.attributes("[data-state=dimmed]", "data-kind");

test(
  "§4 the terminal has nine lines: command, six checks, SMS with $29.99, live site",
  { tag: ["@core", "@everywhere"] },
  async ({ visitor }) => {
    await visitor.open();
    const kinds = await visitor.attributes(".terminal-lines li", "data-kind");
    expect(kinds).toEqual(["command", ...Array<string>(6).fill("check"), "sms", "result"]);
    const lines = await visitor.texts(".terminal-lines li");
    expect(lines[0]).toContain("deploy");
    expect(lines[7]).toMatch(/SMS.*first customer.*\$29\.99/i);
    expect(lines[8]).toMatch(/live at https:/i);
  },
);

test(
  "§9 when in view it waits 1000 ms, shows a line every 800 ms, and stops",
  { tag: ["@core", "@motion"] },
  async ({ visitor }) => {
    // A machine that stalls for a moment shows lines late, but not each time.
    await expect(async () => {
      await visitor.open();
      // Near enough to hydrate the terminal, but with less than half of the section in view.
      await visitor.evaluate(() => {
        const top = document.querySelector(".terminal")?.getBoundingClientRect().top ?? 0;
        scrollBy({ top: top - innerHeight - 100, behavior: "instant" });
      });
      await visitor.waitForIslands("demo-terminal");
      expect(await dimmed(visitor)).toHaveLength(LINES);
      await recordTimes(visitor);
      await visitor.scrollTo("#demo");
      await eventually(() => dimmed(visitor), { timeout: 20_000 }).toEqual([]);
      const [started = 0, ...lines] = await times(visitor);
      expect(lines).toHaveLength(LINES);
      const [first = 0] = lines;
      const last = lines.at(-1) ?? 0;
      expectAbout(first - started, START_DELAY);
      expectAbout(last - first, (LINES - 1) * LINE_INTERVAL);
      for (const [index, line] of lines.slice(1).entries()) {
        expectAbout(line - (lines[index] ?? 0), LINE_INTERVAL);
      }
    }).toPass();
  },
);

test(
  "§4 with reduced motion all lines are shown from the start",
  { tag: "@reduced-motion" },
  async ({ visitor }) => {
    await visitor.open();
    await visitor.scrollTo("#demo");
    await visitor.waitForIslands("demo-terminal");
    expect(await visitor.attributes("[data-state=shown]", "data-kind")).toHaveLength(LINES);
  },
);

/** Records the time, and then the time at which each line appears. */
async function recordTimes(visitor: Visitor): Promise<void> {
  await visitor.evaluate(() => {
    const times = [performance.now()];
    new MutationObserver((changes) => {
      for (const _ of changes) times.push(performance.now());
      document.body.dataset["times"] = JSON.stringify(times);
    }).observe(document.body, { subtree: true, attributeFilter: ["data-state"] });
  });
}

function times(visitor: Visitor): Promise<number[]> {
  return visitor.evaluate(() => JSON.parse(document.body.dataset["times"] ?? "[]") as number[]);
}

function expectAbout(actual: number, expected: number): void {
  expect(actual).toBeGreaterThan(expected - BUSY);
  expect(actual).toBeLessThan(expected + BUSY);
}
