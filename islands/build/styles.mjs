/** Bundles the style sheets. */
import { readdir, readFile } from "node:fs/promises";
import { join, parse } from "node:path";
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

/** Returns the style sheet of all pages: `style/main.css`, and the sheets that it does not import, of sections and islands. */
export async function bundleStyles({ dev }) {
  const folder = join(ROOT_DIR, "style");
  const filename = join(folder, "main.css");
  const main = await readFile(filename, "utf8");
  const others = (await readdir(folder)).filter(
    (file) => file.endsWith(".css") && file !== "main.css",
  );
  const sheets = others.filter((file) => !main.includes(`"${file}"`)).sort();
  const layer = (file) => (ISLAND_NAMES.includes(parse(file).name) ? "islands" : "sections");
  const imports = sheets.map((file) => `@import "${file}" layer(${layer(file)});`).join("\n");
  const read = async (file) => (file === filename ? main + imports : readFile(file, "utf8"));
  const exclude = Features.VendorPrefixes;
  const options = { filename, minify: !dev, targets, exclude, resolver: { read } };
  return (await bundleAsync(options)).code.toString();
}
