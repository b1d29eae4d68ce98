/** Runs `markup.tsx` in Node, bundled by esbuild. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { ISLAND_NAMES, ISLANDS_DIR, SHARED_OPTIONS } from "./options.mjs";

/** Returns the variants of each island's markup by its name. */
export async function prerender() {
  const { outputFiles } = await build({
    ...SHARED_OPTIONS,
    stdin: { contents: script(), resolveDir: import.meta.dirname },
    platform: "node",
    // React's server bundle calls `require` for Node's own modules.
    format: "cjs",
  });
  const module = { exports: {} };
  new Function("module", "require", outputFiles[0].text)(module, createRequire(import.meta.url));
  return module.exports;
}

function script() {
  const islands = ISLAND_NAMES.map((name) => {
    const variants = existsSync(join(ISLANDS_DIR, name, "variants.ts"))
      ? `require("../${name}/variants").VARIANTS`
      : "undefined";
    return `["${name}", render("${name}", require("../${name}/${name}").default, ${variants})]`;
  });
  return `
    const { render } = require("./markup");
    module.exports = Object.fromEntries([${islands}]);
  `;
}
