/** What the browser's scripts and the prerenderer share: the folders, the islands, and the options of esbuild. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

export const ISLANDS_DIR = dirname(import.meta.dirname);
export const ROOT_DIR = dirname(ISLANDS_DIR);

/** The names of the islands. A folder with a component of the same name is an island. */
export const ISLAND_NAMES = readdirSync(ISLANDS_DIR).filter((name) =>
  existsSync(join(ISLANDS_DIR, name, `${name}.tsx`)),
);

export const SHARED_OPTIONS = {
  absWorkingDir: ISLANDS_DIR,
  bundle: true,
  define: {
    "process.env.NODE_ENV": '"production"',
    // Removes React's check for its developer tools, 300 bytes of code.
    __REACT_DEVTOOLS_GLOBAL_HOOK__: "undefined",
    // React's scheduler takes setTimeout instead. Firefox loses a message that is posted while the page goes into the
    // back/forward cache, and the scheduler would wait for it forever.
    MessageChannel: "undefined",
  },
  write: false,
};
