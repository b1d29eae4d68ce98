/**
 * Renders the initial markup of an island, with the placeholder `{{name}}` for the text `name` of its properties. The
 * server replaces the placeholders (`src/page/island.rs`).
 */
import { renderToString } from "react-dom/server";
import { type Island, identifierPrefix, islandTree, markServerElements } from "../hydrate";

/** A variant of an island's markup. */
export interface Variant {
  /** The texts that the properties must have. */
  readonly when: Readonly<Record<string, string>>;
  readonly markup: string;
}

/** Returns the variants of an island's markup. `variants.ts` has the properties of each, for an island that has some. */
export function render(
  name: string,
  island: Island,
  variants: readonly object[] = [{}],
): Variant[] {
  const options = { identifierPrefix: identifierPrefix(name) };
  return variants.map((props) => ({
    when: Object.fromEntries(Object.entries(props).filter(([, value]) => isFixedText(value))),
    markup: markServerElements(renderToString(islandTree(island, props, []), options)),
  }));
}

const isFixedText = (value: unknown) => typeof value === "string" && !value.startsWith("{{");
