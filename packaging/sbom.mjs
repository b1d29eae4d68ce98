/**
 * Prints the components of the release (CycloneDX, JSON): the Rust crates of the program and of the wasm host, the npm
 * packages in the page, and the Debian packages in the image. Tests and build tools are left out.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/** The crates for Linux, with all features: one compiles the program, the other one the wasm host. */
function crates() {
  const file = "landing.cdx.json";
  const args = ["cyclonedx", "--format", "json", "--all-features", "--no-build-deps"];
  const target = "x86_64-unknown-linux-gnu";
  try {
    execFileSync("cargo", [...args, "--target", target, "--override-filename", "landing.cdx"]);
    return JSON.parse(readFileSync(file, "utf8"));
  } finally {
    // It writes a file for each crate of the workspace into the repository.
    for (const { manifest_path } of workspace())
      rmSync(join(dirname(manifest_path), file), { force: true });
  }
}

/** The crates of the workspace, as Cargo describes them. */
function workspace() {
  const metadata = ["metadata", "--no-deps", "--format-version", "1"];
  return JSON.parse(execFileSync("cargo", metadata, { encoding: "utf8" })).packages;
}

/** The npm packages, with the typefaces, from the lock file. `npm sbom --omit dev` left out react, react-dom and scheduler. */
function packages() {
  const lock = JSON.parse(readFileSync("islands/package-lock.json", "utf8"));
  const prefix = "node_modules/";
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== "" && (!dev || path.includes("/@fontsource")))
    .map(([path, { version, license }]) => {
      const name = path.slice(path.lastIndexOf(prefix) + prefix.length);
      const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
      const licenses = [{ license: { id: license } }];
      return { type: "library", "bom-ref": purl, name, version, purl, licenses };
    });
}

/** The Debian packages whose files are in the image, as packaging/image.sh copies them. */
function debianPackages() {
  const run = (...command) => execFileSync(command[0], command.slice(1), { encoding: "utf8" });
  const names = run("ldd", "target/dist/landing").matchAll(/\/(lib[^/ ]+|ld-[^/ ]+) \(/g);
  // By name: dpkg knows some of them as /lib/…, although they are in /usr/lib.
  const owners = [...names].map(([, name]) => run("dpkg", "-S", `*/${name}`).split(":")[0]);
  return [...new Set([...owners, "ca-certificates"])].sort().map((name) => {
    const version = run("dpkg-query", "-W", "-f", "${Version}", name);
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}`;
    return { type: "library", "bom-ref": purl, name, version, purl, description: "in the image" };
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
    components: [...rust.components, ...packages(), ...debianPackages()].map(
      ({ properties, ...component }) => component,
    ),
    dependencies: rust.dependencies,
  },
  null,
  2,
);
console.log(json.replaceAll(root["bom-ref"], "landing"));
