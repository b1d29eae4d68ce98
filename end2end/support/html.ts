/** Checks HTML against the standard. */
import { HtmlValidate } from "html-validate";

const validator = new HtmlValidate({
  root: true,
  extends: ["html-validate:recommended", "html-validate:standard"],
  rules: {
    // React writes `<input/>`, `hidden=""` and `autoComplete`. HTML allows all three.
    "void-style": "off",
    "attribute-empty-style": "off",
    "attr-case": ["error", { style: ["lowercase", "camelcase"] }],
    // Messages need inline styles. The policy of the site forbids them on its pages.
    "no-inline-style": "off",
  },
});

/** Returns each error with the HTML around it. */
export async function htmlErrors(html: string): Promise<string[]> {
  const { results } = await validator.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, offset }) => {
      return `${ruleId}: ${message}: ${html.slice(offset - 40, offset + 60)}`;
    }),
  );
}
