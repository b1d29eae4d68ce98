import { expect, test } from "vitest";
import { ISLAND_NAMES, loadIsland } from "./registry";

test("the page has four islands", () => {
  expect(ISLAND_NAMES.toSorted()).toEqual([
    "contact-links",
    "demo-terminal",
    "toaster",
    "waitlist-form",
  ]);
});

test.each(ISLAND_NAMES)("the module of %s exports its component and `hydrate`", async (name) => {
  const { default: component, hydrate } = await loadIsland(name);
  expect(component).toBeTypeOf("function");
  expect(hydrate).toBeTypeOf("function");
});

test.each(["", "no-such-island", "constructor", "__proto__"])(
  "rejects the unknown island %j",
  async (name) => {
    await expect(loadIsland(name)).rejects.toThrow("unknown island");
  },
);
