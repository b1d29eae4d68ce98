/**
 * Builds the islands: `node build.mjs OUT` writes `OUT/assets` (the scripts, each also as .gz and
 * .br), `OUT/modules` (for each island the URL paths of all scripts it needs) and `OUT/prerendered`
 * (each island's initial markup). Called by build.rs.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";

/** Where the server answers with the scripts; see `src/server/assets.rs`. */
const URL_PATH = "/islands/";
/** esbuild already minifies; terser goes over it again, which takes another 2.5 % off the brotli. */
const TERSER = { module: true, ecma: 2020, compress: { passes: 3 }, format: { comments: false } };
const { version: terserVersion } = createRequire(import.meta.url)("terser/package.json");

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? "dist");
const [assets, modules, prerendered] = ["assets", "modules", "prerendered"].map((folder) =>
  join(out, folder),
);
await rm(out, { recursive: true, force: true });
for (const folder of [assets, modules, prerendered]) await mkdir(folder, { recursive: true });

const shared = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  jsx: "automatic",
  define: {
    "process.env.NODE_ENV": '"production"',
    // React looks for developer tools by this name, with 300 bytes of code.
    __REACT_DEVTOOLS_GLOBAL_HOOK__: "undefined",
  },
  logLevel: "warning",
};

// First the boot script becomes one file: split as it is, esbuild would have it import a chunk of
// helpers that it has no use for.
const boot = join(out, "boot.js");
const leaveImports = {
  name: "leave import() as it is",
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path: join(here, path), external: true } : undefined,
    );
  },
};
await build({ ...shared, entryPoints: ["boot.ts"], outfile: boot, plugins: [leaveImports] });
// Radix names each of its functions for stack traces, with a call and a text: 1 % of all scripts.
const leaveNames = {
  name: "leave functions unnamed",
  setup({ onLoad }) {
    onLoad({ filter: /@radix-ui.*\.mjs$/ }, async ({ path }) => {
      const code = await readFile(path, "utf8");
      return { contents: code.replace(/^var __name = .*$/m, "var __name = (target) => target;") };
    });
  },
};
const { metafile, outputFiles } = await build({
  ...shared,
  plugins: [leaveNames],
  entryPoints: [boot],
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  outdir: assets,
  splitting: true,
  minify: true,
  target: "es2022",
  legalComments: "none",
  // What terser makes of a file is part of its name's hash this way, and gone from the file.
  banner: { js: `/* terser ${terserVersion} ${JSON.stringify(TERSER)} */` },
  metafile: true,
  write: false,
});
await rm(boot);
for (const { path, text } of outputFiles) {
  const { code } = await minify(text, TERSER);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: code.length };
  await writeFile(path, code);
  await writeFile(`${path}.gz`, gzipSync(code, { level: 9 }));
  await writeFile(`${path}.br`, brotliCompressSync(code, { params }));
}
for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
  const island = entryPoint && basename(entryPoint, ".tsx");
  if (!island || island === "boot.js") continue;
  const urls = [...imports(path)].map((path) => URL_PATH + basename(path));
  await writeFile(join(modules, `${island}.txt`), urls.join(" "));
}

/** A script and all that it imports. */
function imports(path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  for (const { path: imported, kind } of metafile.outputs[path].imports) {
    if (kind === "import-statement") imports(imported, found);
  }
  return found;
}

const renderer = join(out, "prerender.mjs");
await build({
  ...shared,
  entryPoints: ["prerender.tsx"],
  outfile: renderer,
  platform: "node",
  // React's server half still calls require() for Node's own modules.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});
const { prerender } = await import(pathToFileURL(renderer).href);
for (const [name, markup] of await prerender()) {
  await writeFile(join(prerendered, `${name}.html`), markup);
}
await rm(renderer);
// What the islands left running (a cache's timer of minutes) must not hold the build.
process.exit();
