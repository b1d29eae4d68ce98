/** Spec §4 and §9: the demo terminal. The tests in vitest measure its times. */
import { expect, test } from "./fixtures.ts";
import { eventually, type Visitor } from "./visitor.ts";

const LINES = 9;

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
  "§9 the lines appear when the section is in view, not before",
  { tag: ["@core", "@motion"] },
  async ({ visitor }) => {
    await visitor.open();
    // Near enough to hydrate the terminal, but with less than half of the section in view.
    await visitor.evaluate(() => {
      const top = document.querySelector(".terminal")?.getBoundingClientRect().top ?? 0;
      scrollBy({ top: top - innerHeight - 100, behavior: "instant" });
    });
    await visitor.waitForIslands("demo-terminal");
    expect(await dimmed(visitor)).toHaveLength(LINES);
    await visitor.scrollTo("#demo");
    await eventually(() => dimmed(visitor), { timeout: 20_000 }).toEqual([]);
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
