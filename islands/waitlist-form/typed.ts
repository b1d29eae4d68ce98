/** Reads what a visitor has typed or pasted. `is_invisible` on the server has the same rule for addresses. */

/** A character that cannot be seen. People copy them from messages and pages. */
const INVISIBLE = String.raw`[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]`;
const INVISIBLE_ENDS = new RegExp(`^${INVISIBLE}+|${INVISIBLE}+$`, "gu");

/** Removes invisible characters from the ends of a text. */
export const trimInvisible = (typed: string) => typed.replaceAll(INVISIBLE_ENDS, "");

/** A domain that is not in ASCII, after a local part that is. The last three characters are full stops of other scripts. */
const INTERNATIONAL_DOMAIN =
  /(?<=^[!-?A-~]+@)(?=.*[^\0-\x7f])[\p{L}\p{M}\p{N}.\-\u3002\uff0e\uff61]+$/u;

/** Returns an address with its domain in ASCII: WebKit rejects every other one, other browsers convert it themselves. */
export const withAsciiDomain = (email: string) =>
  email.replace(INTERNATIONAL_DOMAIN, (domain) => {
    try {
      return new URL(`http://${domain}`).host;
    } catch {
      return domain;
    }
  });

/** Six digits, perhaps with a space or a hyphen between two. Beside a hyphen they are a part of a date. */
const CODE = /(?<!\d[\u2010-\u2015-]?)\d(?:[\s\u2010-\u2015-]?\d){5}(?![\u2010-\u2015-]?\d)/;

/** Returns the first code in a text, such as a pasted sentence. Japanese keyboards type wide digits. */
export const readCode = (typed: string) =>
  CODE.exec(
    typed.normalize("NFKC").replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ""),
  )?.[0].replaceAll(/\D/g, "");
