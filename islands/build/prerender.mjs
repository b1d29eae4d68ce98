/** Runs `markup.tsx` in Node, bundled by esbuild. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { context } from "esbuild";
import { BUILD_DIR, SHARED_OPTIONS } from "./options.mjs";

const WORKER = `
  import { parentPort } from "node:worker_threads";
  import { renderIslands } from "./markup";
  renderIslands().then((markup) => parentPort.postMessage(markup));
`;

/** Creates a prerenderer that can run many times. */
export async function createPrerenderer() {
  const worker = await context({
    ...SHARED_OPTIONS,
    stdin: { contents: WORKER, resolveDir: BUILD_DIR },
    platform: "node",
    // React's server bundle calls `require` for Node's own modules.
    format: "cjs",
  });
  return {
    /** Returns the markup of each island by its name. */
    async prerender() {
      const { outputFiles } = await worker.rebuild();
      // In a worker, because a worker can be terminated. The islands leave timers running, and Node never
      // unloads a module.
      const running = new Worker(outputFiles[0].text, { eval: true });
      try {
        const [markup] = await once(running, "message");
        return markup;
      } finally {
        await running.terminate();
      }
    },
    dispose: () => worker.dispose(),
  };
}
