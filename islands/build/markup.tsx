/**
 * Renders the initial markup of an island, with the placeholder `{{name}}` for the text `name` of its properties. The
 * server replaces the placeholders (`src/page/island.rs`).
 */
import type { FunctionComponent } from "react";
import { renderToString } from "react-dom/server";
import { type Island, islandTree, markServerElements } from "../hydrate";

/** A variant of an island's markup. */
export interface Variant {
  /** The texts that the properties must have. Without it, any property must be a text. */
  readonly when?: Readonly<Record<string, string>>;
  readonly markup: string;
}

/** Every property is a text: its placeholder. */
const PLACEHOLDERS = new Proxy({}, { get: (_, name) => placeholder(String(name)) });

const placeholder = (name: string) => `{{${name}}}`;

/** Returns the variants of an island's markup: one for all texts, or one for each of the properties in its `variants.ts`. */
export function render(name: string, island: Island, variants?: readonly object[]): Variant[] {
  const markup = (component: Island, props: object) =>
    markServerElements(renderToString(islandTree(component, props), { identifierPrefix: name }));
  if (!variants) {
    const component = island as FunctionComponent<object>;
    // React would copy the properties, which a proxy does not list.
    return [{ markup: markup(() => component(PLACEHOLDERS), {}) }];
  }
  return variants.map((props) => ({
    when: Object.fromEntries(
      Object.entries(props).filter(
        ([prop, it]) => typeof it === "string" && it !== placeholder(prop),
      ),
    ),
    markup: markup(island, props),
  }));
}
