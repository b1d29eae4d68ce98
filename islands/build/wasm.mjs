/** Makes a wasm module smaller. */
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ISLANDS_DIR } from "./options.mjs";

const WASM_OPT = join(ISLANDS_DIR, "node_modules/binaryen/bin/wasm-opt");
/** The features that rustc uses in every module for this target. */
const FEATURES = ["--enable-bulk-memory", "--enable-nontrapping-float-to-int"];

/** Returns the optimized module of a file. */
export async function optimize(file) {
  const optimized = `${file}.optimized`;
  await promisify(execFile)(process.execPath, [
    WASM_OPT,
    "-Oz",
    ...FEATURES,
    file,
    "-o",
    optimized,
  ]);
  const module = await readFile(optimized);
  await rm(optimized);
  return module;
}
