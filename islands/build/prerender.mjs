/** Runs `markup.tsx` in Node, bundled by esbuild. */
import { existsSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import { BUILD_DIR, ISLAND_NAMES, ISLANDS_DIR, SHARED_OPTIONS } from "./options.mjs";

/** Returns the variants of each island's markup by its name. */
export async function prerender() {
  const { outputFiles } = await build({
    ...SHARED_OPTIONS,
    stdin: { contents: workerScript(), resolveDir: BUILD_DIR },
    platform: "node",
    // React's server bundle calls `require` for Node's own modules.
    format: "cjs",
  });
  // In a worker, because a worker can be terminated. The islands leave timers running.
  const worker = new Worker(outputFiles[0].text, { eval: true });
  try {
    const [variants] = await once(worker, "message");
    return variants;
  } finally {
    await worker.terminate();
  }
}

function workerScript() {
  const islands = ISLAND_NAMES.map((name) => {
    const variants = existsSync(join(ISLANDS_DIR, name, "variants.ts"))
      ? `require("../${name}/variants").VARIANTS`
      : "undefined";
    return `["${name}", render("${name}", require("../${name}/${name}").default, ${variants})]`;
  });
  return `
    const { parentPort } = require("node:worker_threads");
    const { render } = require("./markup");
    parentPort.postMessage(Object.fromEntries([${islands}]));
  `;
}
