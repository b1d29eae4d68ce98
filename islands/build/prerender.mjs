/** Runs `markup.tsx` in Node, bundled by esbuild. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import { BUILD_DIR, SHARED_OPTIONS } from "./options.mjs";

const WORKER = `
  import { parentPort } from "node:worker_threads";
  import { renderIslands } from "./markup";
  renderIslands().then((markup) => parentPort.postMessage(markup));
`;

/** Returns the markup of each island by its name. */
export async function prerender() {
  const { outputFiles } = await build({
    ...SHARED_OPTIONS,
    stdin: { contents: WORKER, resolveDir: BUILD_DIR },
    platform: "node",
    // React's server bundle calls `require` for Node's own modules.
    format: "cjs",
  });
  // In a worker, because a worker can be terminated. The islands leave timers running.
  const worker = new Worker(outputFiles[0].text, { eval: true });
  try {
    const [markup] = await once(worker, "message");
    return markup;
  } finally {
    await worker.terminate();
  }
}
