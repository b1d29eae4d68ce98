/** Reads what a visitor has typed or pasted. `is_invisible` and `read_code` on the server have the same rules. */

/** A character that cannot be seen. People copy them from messages and pages. */
const INVISIBLE = String.raw`[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]`;
const INVISIBLE_ENDS = new RegExp(`^${INVISIBLE}+|${INVISIBLE}+$`, "gu");

/** Removes invisible characters from the ends of a text. */
export const trimInvisible = (typed: string) => typed.replaceAll(INVISIBLE_ENDS, "");

/** Digits, and digits with spaces and hyphens between them. */
const CODE_PATTERNS = [/\d+/g, /\d[\d\s\u2010-\u2015-]*/g];
const CODE_LENGTH = 6;

/** Returns the code in a text, such as a pasted sentence. Returns nothing if the text has none or several. */
export function readCode(typed: string): string | undefined {
  // Japanese keyboards type digits in full width.
  const text = typed.replaceAll(/[０-９]/g, (digit) => digit.normalize("NFKC"));
  const numbers = CODE_PATTERNS.flatMap((pattern) => text.match(pattern) ?? []);
  const codes = numbers.map((number) => number.replaceAll(/\D/g, ""));
  const [code, ...others] = new Set(codes.filter(({ length }) => length === CODE_LENGTH));
  return others.length > 0 ? undefined : code;
}
