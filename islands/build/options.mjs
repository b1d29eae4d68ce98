/** The esbuild options that the browser's scripts and the prerenderer share. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const BUILD_DIR = dirname(fileURLToPath(import.meta.url));
export const ISLANDS_DIR = dirname(BUILD_DIR);
export const ROOT_DIR = dirname(ISLANDS_DIR);

export const SHARED_OPTIONS = {
  absWorkingDir: ISLANDS_DIR,
  bundle: true,
  jsx: "automatic",
  define: {
    "process.env.NODE_ENV": '"production"',
    // Removes React's check for its developer tools, 300 bytes of code.
    __REACT_DEVTOOLS_GLOBAL_HOOK__: "undefined",
  },
  logLevel: "warning",
  write: false,
};
