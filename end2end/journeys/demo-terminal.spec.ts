/** Spec §4 and §9: the demo terminal. The tests in vitest measure its times. */
import { expect, test } from "./fixtures.ts";
import { eventually, type Visitor } from "./visitor.ts";

const LINES = 9;

const dimmed = (visitor: Visitor) => visitor.attributes("[data-state=dimmed]", "data-kind");

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
