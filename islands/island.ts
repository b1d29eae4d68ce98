/** The types that the registry and `hydrate.tsx` share. */
import type { ComponentType } from "react";

/** An island's component. Its props come from the server, and `src/wire.rs` declares them. */
export type Island = ComponentType<never>;

/**
 * What the module of an island exports. Each module re-exports `hydrate`, which puts React into the one
 * chunk that all islands share.
 */
export interface IslandModule {
  readonly default: Island;
  /** Hydrates the markup that the server rendered into `element`. */
  readonly hydrate: (element: HTMLElement, name: string, island: Island, props: object) => void;
}
