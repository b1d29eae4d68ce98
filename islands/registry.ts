/** Island name → its code, loaded when it is wanted. A name of `wire.rs` that is missing here
 * fails `tsc`. */
import type { ComponentType } from "react";
import type { IslandName } from "./bindings/wire";

/** Every island with the properties the server gives it, which `wire.rs` declares. */
export type Island = ComponentType<never>;

const REGISTRY: Record<IslandName, () => Promise<{ default: Island }>> = {
  "demo-terminal": () => import("./demo-terminal/demo-terminal"),
  "waitlist-form": () => import("./waitlist-form/waitlist-form"),
  "contact-links": () => import("./contact-links/contact-links"),
  toaster: () => import("./toaster/toaster"),
};

export async function load(name: string): Promise<Island> {
  if (!isIsland(name)) throw new Error(`there is no island ${name}`);
  return (await REGISTRY[name]()).default;
}

export const NAMES = Object.keys(REGISTRY).filter(isIsland);

function isIsland(name: string): name is IslandName {
  return Object.hasOwn(REGISTRY, name);
}
