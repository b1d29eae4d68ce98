/**
 * Rebuilds the islands after each change, for `make watch`. Writes:
 *
 *     OUT/assets/NAME-HASH.js   the scripts, neither minified nor compressed
 *     OUT/islands.json          {"boot": NAME, "islands": {ISLAND: {"modules": URLS, "markup": HTML}}}
 *
 * Each build writes its scripts first and then replaces `islands.json` in one step. So a reader always finds
 * a complete build, and a change of `islands.json` announces a new one.
 */
import { watch as watchDirectory } from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createBundler } from "./bundle.mjs";
import { ISLANDS_DIR } from "./options.mjs";
import { createPrerenderer } from "./prerender.mjs";

/** Editors save a file in several steps, each of which is an event. */
const DEBOUNCE_MS = 30;
const PARENT_CHECK_INTERVAL_MS = 500;

/** Builds, then rebuilds after each change until the parent process ends. */
export async function watch(out) {
  exitWithParent();
  const assets = join(out, "assets");
  await mkdir(assets, { recursive: true });
  const bundler = await createBundler({ dev: true });
  const prerenderer = await createPrerenderer();
  let current = { manifest: "", names: [] };

  /** Builds once. Returns whether the result differs from the previous build. */
  async function rebuild() {
    const { scripts, modules, boot } = await bundler.bundle();
    const markup = await prerenderer.prerender();
    const islands = {};
    for (const [island, urls] of modules)
      islands[island] = { modules: urls.join(" "), markup: markup.get(island) };
    const manifest = `${JSON.stringify({ boot, islands }, null, 2)}\n`;
    if (manifest === current.manifest) return false;
    for (const [name, code] of scripts) await writeAtomically(join(assets, name), code);
    await writeAtomically(join(out, "islands.json"), manifest);
    // The open page may still load scripts of the previous build.
    const keep = new Set([...scripts.keys(), ...current.names]);
    for (const name of await readdir(assets)) if (!keep.has(name)) await rm(join(assets, name));
    current = { manifest, names: [...scripts.keys()] };
    return true;
  }

  async function rebuildAndReport() {
    const start = performance.now();
    try {
      const changed = await rebuild();
      const duration = Math.round(performance.now() - start);
      console.log(`islands: ${changed ? "rebuilt" : "unchanged"} (${duration} ms)`);
    } catch (error) {
      // esbuild has already printed its own errors.
      if (!error.errors) console.error(error);
      console.error("islands: build failed; still serving the previous build");
    }
  }

  let pending = Promise.resolve();
  let timer;
  watchSources(() => {
    clearTimeout(timer);
    timer = setTimeout(() => (pending = pending.then(rebuildAndReport)), DEBOUNCE_MS);
  });
  pending = pending.then(rebuildAndReport);
}

/** Writes a file. Readers see the old content or the new content, never a part. */
async function writeAtomically(path, content) {
  await writeFile(`${path}.tmp`, content);
  await rename(`${path}.tmp`, path);
}

/**
 * Calls back after each change of a source file. esbuild's own watch mode polls and can take two seconds to
 * notice a change.
 */
function watchSources(onChange) {
  const watched = new Set();
  async function watchTree(directory) {
    if (!watched.has(directory)) {
      watched.add(directory);
      watchDirectory(directory, (_event, name) => {
        // The event may announce a new folder.
        void watchTree(directory);
        if (!name || /(?<!\.test)\.tsx?$/.test(name)) onChange();
      }).on("error", () => watched.delete(directory));
    }
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.isDirectory() && entry.name !== "node_modules")
        await watchTree(join(directory, entry.name));
    }
  }
  return watchTree(ISLANDS_DIR);
}

/**
 * Exits when the parent process ends. The end of stdin would not show it: a shell connects the stdin of a
 * background job to /dev/null.
 */
function exitWithParent() {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit();
  }, PARENT_CHECK_INTERVAL_MS);
}
