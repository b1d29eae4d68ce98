/** Reads what a visitor has typed or pasted. `is_invisible` on the server has the same rule for addresses; of a code it takes the digits. */

/** A character that cannot be seen. People copy them from messages and pages. */
const INVISIBLE = String.raw`[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]`;
const INVISIBLE_ENDS = new RegExp(`^${INVISIBLE}+|${INVISIBLE}+$`, "gu");

/** Removes invisible characters from the ends of a text. */
export const trimInvisible = (typed: string) => typed.replaceAll(INVISIBLE_ENDS, "");

const DIGIT = /\p{Nd}/u;
/** Digits with spaces and hyphens between them: one number, or several. */
const DIGITS = /\d[\d\s\u2010-\u2015-]*/g;
const CODE_LENGTH = 6;

/** Returns the first code in a text, such as a pasted sentence. Many languages have their own digits. */
export function readCode(typed: string): string | undefined {
  const text = [...typed].map((char) => (DIGIT.test(char) ? toAscii(char) : char)).join("");
  const groups = text.match(DIGITS) ?? [];
  const numbers = groups.flatMap((it) => [...it.split(/\D+/), it.replaceAll(/\D/g, "")]);
  return numbers.find(({ length }) => length === CODE_LENGTH);
}

/** Unicode has the digits of a script in a row, from zero to nine, and the next script may follow. */
function toAscii(digit: string): string {
  const value = digit.codePointAt(0) ?? 0;
  let before = value;
  while (DIGIT.test(String.fromCodePoint(before - 1))) before -= 1;
  return String((value - before) % 10);
}
