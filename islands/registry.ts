/** Island name → its code, loaded when it is wanted. A name of `wire.rs` that is missing here
 * fails `tsc`. */
import type { ComponentType } from "react";
import type { IslandName } from "./bindings/wire";
import type { mount } from "./mount";

/** Every island with the properties the server gives it, which `wire.rs` declares. */
export type Island = ComponentType<never>;

/** Each module re-exports `mount`, so that React is in the one chunk that all of them share. */
interface Module {
  readonly default: Island;
  readonly mount: typeof mount;
}

const REGISTRY: Record<IslandName, () => Promise<Module>> = {
  "demo-terminal": () => import("./demo-terminal/demo-terminal"),
  "waitlist-form": () => import("./waitlist-form/waitlist-form"),
  "contact-links": () => import("./contact-links/contact-links"),
  toaster: () => import("./toaster/toaster"),
};

export async function load(name: string): Promise<Module> {
  if (!isIsland(name)) throw new Error(`unknown island "${name}"`);
  return REGISTRY[name]();
}

export const NAMES = /* @__PURE__ */ Object.keys(REGISTRY).filter(isIsland);

function isIsland(name: string): name is IslandName {
  return Object.hasOwn(REGISTRY, name);
}
