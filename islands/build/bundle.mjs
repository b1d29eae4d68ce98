/**
 * Bundles the browser's scripts: the one in the head of each page, the boot script, one script per island, and the
 * chunks that they share.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { ISLANDS_DIR, SHARED_OPTIONS } from "./options.mjs";

/** Where the server serves the scripts; see `src/server/assets.rs`. */
const URL_PATH = "/islands/";
/** terser runs after esbuild's own minification and saves another 2.5 % of the brotli size. */
const TERSER = { module: true, ecma: 2020, compress: { passes: 3 }, format: { comments: false } };
const { version: terserVersion } = createRequire(import.meta.url)("terser/package.json");

/** Leaves the `import()` calls of the registry as they are. The second step resolves them. */
const keepDynamicImports = {
  name: "keep dynamic imports",
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    );
  },
};

/** Resolves the entry point `boot` to this code. */
const bootScript = (contents) => ({
  name: "boot script",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^boot$/ }, ({ path }) => ({ path, namespace: "boot-script" }));
    onLoad({ filter: /./, namespace: "boot-script" }, () => ({
      contents,
      resolveDir: ISLANDS_DIR,
    }));
  },
});

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
 * Returns `scripts`, the code by URL path; `modules`, the URL paths of an island's scripts by island; `boot_path`, the
 * URL path of the boot script; and `head_script`, the code of the script in the head. `dev` skips the minification.
 *
 * It works in two steps. The first bundles the boot script into one file. In a single step, esbuild would
 * make it import a chunk of helpers that it does not use.
 */
export async function bundleScripts({ dev }) {
  const boot = await build({
    ...SHARED_OPTIONS,
    format: "esm",
    entryPoints: ["boot.ts"],
    plugins: [keepDynamicImports],
  });
  const { metafile, outputFiles } = await build({
    ...SHARED_OPTIONS,
    format: "esm",
    entryPoints: ["boot"],
    plugins: [bootScript(boot.outputFiles[0].text), removeFunctionNames],
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    outdir: join(ISLANDS_DIR, "out"),
    splitting: true,
    minify: !dev,
    target: "es2022",
    legalComments: "none",
    // Makes terser's version and options part of the hash in each file name. terser removes the banner.
    ...(dev ? {} : { banner: { js: `/* terser ${terserVersion} ${JSON.stringify(TERSER)} */` } }),
    metafile: true,
  });
  const head = await build({
    ...SHARED_OPTIONS,
    format: "iife",
    entryPoints: ["head.ts"],
    minify: !dev,
    target: "es2022",
  });

  const scripts = new Map();
  for (const { path, text } of outputFiles)
    scripts.set(URL_PATH + basename(path), dev ? text : await minify(text));
  const modules = new Map();
  let boot_path;
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (!entryPoint) continue;
    if (entryPoint === "boot-script:boot") boot_path = URL_PATH + basename(path);
    else modules.set(basename(entryPoint, ".tsx"), urls(path, metafile.outputs));
  }
  const headCode = head.outputFiles[0].text;
  return { scripts, modules, boot_path, head_script: dev ? headCode : await minify(headCode) };
}

/** Returns the smallest script that does the same. */
export async function minify(code) {
  const terser = await import("terser");
  return (await terser.minify(code, TERSER)).code;
}

/** Returns the URL paths of a script and of all scripts that it imports statically. */
function urls(path, outputs) {
  const found = new Set([path]);
  // A set includes the items that are added during its iteration.
  for (const script of found) {
    for (const { path: imported, kind } of outputs[script].imports)
      if (kind === "import-statement") found.add(imported);
  }
  return [...found].map((script) => URL_PATH + basename(script));
}
