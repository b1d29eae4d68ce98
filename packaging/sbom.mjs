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
  try {
    execFileSync("cargo", [...args, "--target", "all", "--override-filename", "landing.cdx"]);
    return JSON.parse(readFileSync(file, "utf8"));
  } finally {
    // It writes into the repository, whose version would be a changed one in the next build.
    rmSync(file, { force: true });
    rmSync(`fuzz/${file}`, { force: true });
  }
}

/** The npm packages, from the lock file. `npm sbom --omit dev` left out react, react-dom and scheduler. */
function packages() {
  const lock = JSON.parse(readFileSync("islands/package-lock.json", "utf8"));
  const prefix = "node_modules/";
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== "" && !dev)
    .map(([path, { version, license }]) => {
      const name = path.slice(path.lastIndexOf(prefix) + prefix.length);
      const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
      const licenses = [{ license: { id: license } }];
      return { type: "library", "bom-ref": purl, name, version, purl, licenses };
    });
}

const rust = crates();
const root = rust.metadata.component;
// Paths of the machine that builds, and random numbers, say nothing about the components.
const json = JSON.stringify(
  {
    bomFormat: "CycloneDX",
    specVersion: rust.specVersion,
    version: 1,
    metadata: {
      timestamp: new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": "landing",
        name: "landing",
        version: root.version,
      },
    },
    components: [...rust.components, ...packages()].map(
      ({ properties, ...component }) => component,
    ),
    dependencies: rust.dependencies,
  },
  null,
  2,
);
console.log(json.replaceAll(root["bom-ref"], "landing"));
