/**
 * Renders the initial markup of each island, with the placeholder `{{name}}` for the prop `name`. The server
 * replaces the placeholders (`src/page/island.rs`).
 */
import { renderToString } from "react-dom/server";
import type { ContactLinksProps, WaitlistFormProps } from "../bindings/wire";
import { identifierPrefix, islandTree, markServerElements } from "../hydrate";
import { ISLAND_NAMES, loadIsland } from "../registry";

const PLACEHOLDERS: Record<keyof (WaitlistFormProps & ContactLinksProps), string> = {
  product: "{{product}}",
  count: "{{count}}",
  count_from: "{{count_from}}",
  count_state: "{{count_state}}",
  email: "{{email}}",
  outcome: "{{outcome}}",
  invalid: "{{invalid}}",
  message: "{{message}}",
  confirms: "{{confirms}}",
  social: "{{social}}",
  social_host: "{{social_host}}",
};

/** Returns the markup of each island by its name. */
export async function renderIslands(): Promise<Map<string, string>> {
  const markup = new Map<string, string>();
  for (const name of ISLAND_NAMES) {
    const { default: island } = await loadIsland(name);
    const tree = islandTree(island, PLACEHOLDERS, []);
    const options = { identifierPrefix: identifierPrefix(name) };
    markup.set(name, markServerElements(renderToString(tree, options)));
  }
  return markup;
}
