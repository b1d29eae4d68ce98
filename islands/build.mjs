/**
 * Builds the islands: `node build.mjs OUT` writes `OUT/assets` (the scripts, each also as .gz and
 * .br) and `OUT/prerendered` (each island's initial markup). Called by build.rs.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? "dist");
const assets = join(out, "assets");
const prerendered = join(out, "prerendered");

await rm(out, { recursive: true, force: true });
await mkdir(prerendered, { recursive: true });

const shared = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
};

await build({
  ...shared,
  entryPoints: ["boot.ts"],
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  outdir: assets,
  splitting: true,
  minify: true,
  target: "es2022",
  legalComments: "none",
});
for (const name of await readdir(assets)) {
  const bytes = await readFile(join(assets, name));
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  await writeFile(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  await writeFile(join(assets, `${name}.br`), brotliCompressSync(bytes, { params }));
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
