/**
 * Builds the islands.
 *
 *     node islands/build/build.mjs OUT           builds for production; build.rs calls this
 *     node islands/build/build.mjs --dev OUT     the same files, not minified, in a tenth of the time
 *     node islands/build/build.mjs --watch OUT   rebuilds after each change; see watch.mjs
 *
 * Without --watch it replaces OUT and writes:
 *
 *     OUT/assets/NAME-HASH.js       the scripts, each also as .gz and .br
 *     OUT/head.js                   the script in the head of each page
 *     OUT/modules/ISLAND.txt        the URL paths of all scripts that an island needs
 *     OUT/prerendered/ISLAND.html   the initial markup of an island
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { createBundler } from "./bundle.mjs";
import { createPrerenderer } from "./prerender.mjs";
import { watch } from "./watch.mjs";

const { values, positionals } = parseArgs({
  options: { dev: { type: "boolean" }, watch: { type: "boolean" } },
  allowPositionals: true,
});
if (positionals.length !== 1) {
  console.error("usage: node islands/build/build.mjs [--dev | --watch] OUT");
  process.exit(2);
}
const out = resolve(positionals[0]);
if (values.watch) await watch(out);
else await buildOnce(out, values.dev ?? false);

async function buildOnce(out, dev) {
  await rm(out, { recursive: true, force: true });
  for (const folder of ["assets", "modules", "prerendered"])
    await mkdir(join(out, folder), { recursive: true });

  const bundler = await createBundler({ dev });
  const { scripts, modules, head } = await bundler.bundle();
  await bundler.dispose();
  for (const [name, code] of scripts) {
    const path = join(out, "assets", name);
    const params = {
      [constants.BROTLI_PARAM_SIZE_HINT]: code.length,
      [constants.BROTLI_PARAM_QUALITY]: dev ? 1 : constants.BROTLI_MAX_QUALITY,
    };
    await writeFile(path, code);
    await writeFile(`${path}.gz`, gzipSync(code, { level: dev ? 1 : 9 }));
    await writeFile(`${path}.br`, brotliCompressSync(code, { params }));
  }
  for (const [island, urls] of modules)
    await writeFile(join(out, "modules", `${island}.txt`), urls.join(" "));

  await writeFile(join(out, "head.js"), head);

  const prerenderer = await createPrerenderer();
  for (const [island, markup] of await prerenderer.prerender())
    await writeFile(join(out, "prerendered", `${island}.html`), markup);
  await prerenderer.dispose();
}
