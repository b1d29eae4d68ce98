/**
 * Prints the components of the release (CycloneDX, JSON): the Rust crates of the program and of the wasm host, and the
 * npm packages in the scripts of the page. Tests and build tools are left out.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";

/** The crates, for all features: one compiles the program, the other one the wasm host. */
function crates() {
  const file = "landing.cdx.json";
  const args = ["cyclonedx", "--format", "json", "--all-features", "--no-build-deps"];
  execFileSync("cargo", [...args, "--target", "all", "--override-filename", "landing.cdx"]);
  const crates = JSON.parse(readFileSync(file, "utf8"));
  rmSync(file);
  rmSync(`fuzz/${file}`, { force: true });
  return crates;
}

/** The npm packages. */
function packages() {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"];
  return JSON.parse(execFileSync("npm", args, { cwd: "islands", encoding: "utf8" }));
}

const rust = crates();
const npm = packages();
const root = rust.metadata.component;
// Paths of the machine that builds, and random numbers, say nothing about the components.
const json = JSON.stringify(
  {
    bomFormat: "CycloneDX",
    specVersion: rust.specVersion,
    version: 1,
    metadata: {
      timestamp: new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString(),
      component: { type: "application", "bom-ref": "landing", name: "landing", version: root.version },
    },
    components: [...rust.components, ...npm.components].map(({ properties, ...component }) => component),
    dependencies: [
      ...rust.dependencies,
      ...npm.dependencies.filter(({ ref }) => npm.components.some((it) => it["bom-ref"] === ref)),
    ],
  },
  null,
  2,
);
console.log(json.replaceAll(root["bom-ref"], "landing"));
