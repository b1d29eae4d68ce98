/**
 * Bundles the browser's scripts: the one in the head of each page, the boot script, one per island, and the chunks that they share.
 */
import { readFile } from "node:fs/promises";
import { basename, join, parse } from "node:path";
import { build } from "esbuild";
import * as terser from "terser";
import { ISLAND_NAMES, ISLANDS_DIR, SHARED_OPTIONS } from "./options.mjs";

/** Where the server serves the scripts; see `src/server/assets.rs`. */
const URL_PATH = "/islands/";
/**
 * terser runs after esbuild's own minification and saves another 2.6 % of the brotli size. `unsafe_methods` and `unsafe_arrows`
 * are unsafe for code that calls `new` on a method, or on a function that does not use `this`, which no library here does.
 * Without `lhs_constants`, comparisons keep the order that esbuild and the libraries wrote: 157 bytes less of brotli.
 */
const TERSER = {
  module: true,
  ecma: 2020,
  compress: { passes: 3, unsafe_methods: true, unsafe_arrows: true, lhs_constants: false },
  format: { comments: false },
};

/** Radix names each of its functions for stack traces. The calls and names are 4 KB of brotli. */
const removeFunctionNames = {
  name: "remove function names",
  setup({ onLoad }) {
    onLoad({ filter: /@radix-ui.*\.mjs$/ }, async ({ path }) => {
      const code = await readFile(path, "utf8");
      return { contents: code.replace(/^var __name = .*$/m, "var __name = (target) => target;") };
    });
  },
};

/**
 * Returns `scripts`, the code by URL path; `modules`, the URL paths of the scripts that an island needs by its name;
 * `boot_path`, the URL path of the boot script; and `head_script`, the code of the script in the head. `dev` skips the
 * minification.
 */
export async function bundleScripts({ dev }) {
  const options = {
    ...SHARED_OPTIONS,
    format: "esm",
    minify: !dev,
    target: "es2022",
    entryNames: "[name]-[hash]",
    outdir: join(ISLANDS_DIR, "out"),
  };
  const head = await build({ ...options, entryPoints: ["head.ts"], format: "iife" });
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: ["boot.ts", ...ISLAND_NAMES.map((name) => `${name}/${name}.tsx`)],
    plugins: [removeFunctionNames],
    splitting: true,
    metafile: true,
  });

  const code = (text) => (dev ? text : minify(text));
  const scripts = new Map();
  for (const { path, text } of outputFiles) scripts.set(urlPath(path), await code(text));
  const modules = new Map();
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs))
    if (entryPoint) modules.set(parse(entryPoint).name, withImports(path, metafile.outputs));
  const [boot_path] = modules.get("boot");
  return { scripts, modules, boot_path, head_script: await code(head.outputFiles[0].text) };
}

const urlPath = (path) => URL_PATH + basename(path);

/** Returns a smaller script that does the same. */
export async function minify(code) {
  return (await terser.minify(code, TERSER)).code;
}

/** Returns the URL paths of a script, and of all scripts that it imports statically. */
function withImports(path, outputs) {
  const found = new Set([path]);
  // A set includes the items that are added during its iteration.
  for (const script of found)
    for (const { path, kind } of outputs[script].imports)
      if (kind === "import-statement") found.add(path);
  return [...found].map(urlPath);
}
