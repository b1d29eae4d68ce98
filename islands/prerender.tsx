/** Each island's initial markup, with `{{name}}` where the property `name` is shown; the server
 * puts the properties in (`src/island.rs`). `build.mjs` bundles this for Node and runs it. */
import { renderToString } from "react-dom/server";
import type { ContactLinksProps, WaitlistFormProps } from "./bindings/wire";
import { identifierPrefix, markOwn, tree } from "./mount";
import { load, NAMES } from "./registry";

const PLACEHOLDERS: Record<keyof (WaitlistFormProps & ContactLinksProps), string> = {
  product: "{{product}}",
  count: "{{count}}",
  count_from: "{{count_from}}",
  count_state: "{{count_state}}",
  email: "{{email}}",
  outcome: "{{outcome}}",
  invalid: "{{invalid}}",
  message: "{{message}}",
  social: "{{social}}",
  social_host: "{{social_host}}",
};

export async function prerender(): Promise<Map<string, string>> {
  const markup = new Map<string, string>();
  for (const name of NAMES) {
    const { default: island } = await load(name);
    const content = tree(island, PLACEHOLDERS, []);
    const options = { identifierPrefix: identifierPrefix(name) };
    markup.set(name, markOwn(renderToString(content, options)));
  }
  return markup;
}
