/**
 * Builds the site's files.
 *
 *     node islands/build/build.mjs HOST OUT         for production; build.rs calls this
 *     node islands/build/build.mjs --dev HOST OUT   neither minified nor compressed, in a fraction of the time
 *
 * HOST is the directory with the wasm host, `host.js` and `host_bg.wasm`. Replaces OUT and writes:
 *
 *     OUT/files/PATH   each file under its URL path; scripts, drawings and the host also as .gz and .br
 *     OUT/site.json    what a page contains of them: `Files` in src/page/mod.rs
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { bundleScripts, minify } from "./bundle.mjs";
import { ISLANDS_DIR, ROOT_DIR } from "./options.mjs";
import { prerender } from "./prerender.mjs";
import { bundleStyles } from "./styles.mjs";

/** Files with these endings are smaller when they are compressed. */
const COMPRESSIBLE = /\.(?:css|html|js|json|svg|txt|wasm|xml)$/;
const WASM_OPT = join(ISLANDS_DIR, "node_modules/binaryen/bin/wasm-opt");
/** With the features that rustc uses in every module for this target. */
const WASM_OPTIONS = ["-Oz", "--enable-bulk-memory", "--enable-nontrapping-float-to-int"];

const { values, positionals } = parseArgs({
  options: { dev: { type: "boolean", default: false } },
  allowPositionals: true,
});
if (positionals.length !== 2) {
  console.error("usage: node islands/build/build.mjs [--dev] HOST OUT");
  process.exit(2);
}
const [host, out] = positionals.map((path) => resolve(path));
const files = join(out, "files");
await rm(out, { recursive: true, force: true });
await cp(join(ROOT_DIR, "public"), files, { recursive: true, dereference: true });

const { scripts, modules, ...site } = await bundleScripts(values);
for (const [path, code] of scripts) await write(path, code);

const glue = await readFile(join(host, "host.js"), "utf8");
let wasm = join(host, "host_bg.wasm");
if (!values.dev) {
  const optimized = join(out, "host.wasm");
  execFileSync(process.execPath, [WASM_OPT, ...WASM_OPTIONS, wasm, "-o", optimized]);
  wasm = optimized;
}
site.host_js_path = await writeHashed("host", "js", values.dev ? glue : await minify(glue));
site.host_wasm_path = await writeHashed("host", "wasm", await readFile(wasm));

site.inline_css = await bundleStyles(values);
site.islands = {};
for (const [island, variants] of Object.entries(await prerender()))
  site.islands[island] = { modules: modules.get(island).join(" "), variants };
await writeFile(join(out, "site.json"), JSON.stringify(site, null, 2));

if (!values.dev) {
  const entries = await readdir(files, { recursive: true, withFileTypes: true });
  for (const it of entries)
    if (it.isFile() && COMPRESSIBLE.test(it.name)) await compress(join(it.parentPath, it.name));
}
// The prerendered islands leave timers running.
process.exit();

/** Writes a file under its URL path. */
async function write(path, content) {
  const file = join(files, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

/** Writes a file whose name contains a hash of its content. Returns its URL path. */
async function writeHashed(name, extension, content) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 8);
  const path = `/pkg/${name}.${hash}.${extension}`;
  await write(path, content);
  return path;
}

async function compress(file) {
  const content = await readFile(file);
  await writeFile(`${file}.gz`, gzipSync(content, { level: 9 }));
  await writeFile(`${file}.br`, brotliCompressSync(content));
}
