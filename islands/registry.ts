/** Maps the name of each island to its code, which is loaded on demand. */
import type { IslandName } from "./bindings/wire";
import type { IslandModule } from "./island";

// `tsc` fails if an island that `src/wire.rs` names is missing here.
const REGISTRY: Record<IslandName, () => Promise<IslandModule>> = {
  "demo-terminal": () => import("./demo-terminal/demo-terminal"),
  "waitlist-form": () => import("./waitlist-form/waitlist-form"),
  "contact-links": () => import("./contact-links/contact-links"),
  toaster: () => import("./toaster/toaster"),
};

/** Loads the module of an island. Throws if there is no island of this name. */
export async function loadIsland(name: string): Promise<IslandModule> {
  if (!isIslandName(name)) throw new Error(`unknown island "${name}"`);
  return REGISTRY[name]();
}

export const ISLAND_NAMES = /* @__PURE__ */ Object.keys(REGISTRY).filter(isIslandName);

function isIslandName(name: string): name is IslandName {
  return Object.hasOwn(REGISTRY, name);
}
