import { expect, test } from "vitest";
import { load, NAMES } from "./registry";

test("has the four islands of the page", () => {
  expect(NAMES.toSorted()).toEqual(["contact-links", "demo-terminal", "toaster", "waitlist-form"]);
});

test.each(NAMES)("loads the component of %s, and what hydrates it", async (name) => {
  const { default: component, mount } = await load(name);
  expect(component).toBeTypeOf("function");
  expect(mount).toBeTypeOf("function");
});

test.each(["", "no-such-island", "constructor", "__proto__"])("has no island %j", async (name) => {
  await expect(load(name)).rejects.toThrow("unknown island");
});
