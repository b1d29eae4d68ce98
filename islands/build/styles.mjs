/** Bundles the style sheets. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleAsync, Features } from "lightningcss";
import { ISLAND_NAMES, ROOT_DIR } from "./options.mjs";

/** Returns the version of a browser as Lightning CSS reads it. */
const version = (major, minor = 0) => (major << 16) | (minor << 8);

/** The browsers of three years ago. Lightning CSS translates newer syntax for them, but not selectors such as `:has()`. */
const targets = {
  chrome: version(119),
  firefox: version(120),
  ios_saf: version(17, 1),
  safari: version(17, 1),
};

/** Returns the style sheet of all pages: `style/main.css`, and the sheets that have the name of an island. */
export async function bundleStyles({ dev }) {
  const folder = join(ROOT_DIR, "style");
  const filename = join(folder, "main.css");
  const sheets = ISLAND_NAMES.filter((name) => existsSync(join(folder, `${name}.css`)));
  const imports = sheets.map((name) => `@import "${name}.css" layer(islands);`).join("\n");
  const read = async (file) => (await readFile(file, "utf8")) + (file === filename ? imports : "");
  const exclude = Features.VendorPrefixes;
  const options = { filename, minify: !dev, targets, exclude, resolver: { read } };
  return (await bundleAsync(options)).code.toString();
}
