/** Bundles the style sheets. */
import { join } from "node:path";
import { bundle } from "lightningcss";
import { ROOT_DIR } from "./options.mjs";

/** Returns the version of a browser as Lightning CSS reads it. */
const version = (major, minor = 0) => (major << 16) | (minor << 8);

/** The browsers of three years ago. Newer syntax is translated for them. */
const targets = {
  chrome: version(119),
  firefox: version(120),
  ios_saf: version(17, 1),
  safari: version(17, 1),
};

/** Returns the style sheet of all pages. */
export function bundleStyles({ dev }) {
  const filename = join(ROOT_DIR, "style/main.css");
  return bundle({ filename, minify: !dev, targets }).code.toString();
}
