/**
 * Makes the page's fonts: `node fonts.mjs` cuts the two typefaces down to what the page writes,
 * into `public/fonts`, and writes `style/fonts.css` with them and with the fallbacks that have their
 * measures. `--check` changes nothing and fails when they are not what this would make.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createFontStack } from "@capsizecss/core";
import { fromBlob } from "@capsizecss/unpack";
import subsetFont from "subset-font";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const fonts = join(root, "public/fonts");
const sheet = join(root, "style/fonts.css");

/** Printable ASCII, and what typography adds to it; what an owner's name may have beyond that comes
 * from the fallback. */
const ASCII = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join("");
const PUNCTUATION = "–—‘’“”…©·×";

/** Prose. One optical size between text and display: the axis would double the file. */
const NEWSREADER = {
  family: "Newsreader",
  file: "@fontsource-variable/newsreader/files/newsreader-latin-opsz-normal.woff2",
  text: ASCII + PUNCTUATION,
  variationAxes: { opsz: 44, wght: { min: 400, max: 600 } },
  weight: "400 600",
  // Measures of the system's serifs, from the tables of @capsizecss/metrics 4.3.0 (a package too
  // large to depend on). Georgia: macOS, iOS, Windows; Noto Serif: Android; the others: Linux.
  fallbacks: [
    {
      locals: ["Georgia"],
      metrics: { ascent: 1878, descent: -449, lineGap: 0, unitsPerEm: 2048, xWidthAvg: 913 },
    },
    {
      locals: ["Noto Serif"],
      metrics: { ascent: 1069, descent: -293, lineGap: 0, unitsPerEm: 1000, xWidthAvg: 481 },
    },
    {
      locals: ["Times New Roman", "Liberation Serif", "Tinos"],
      metrics: { ascent: 1825, descent: -443, lineGap: 87, unitsPerEm: 2048, xWidthAvg: 832 },
    },
  ],
};

/**
 * The machine's voice: the terminal, controls, figures. Not for phones, whose own is a good one
 * too: as a second font before the first paint it costs a slow one 0.2 s (Lighthouse's simulation).
 * `src/app.rs` preloads it for the same windows, and `style/tokens.css` asks for it there.
 */
const COMMIT_MONO = {
  windows: "(width >= 45rem)",
  family: "Commit Mono",
  file: "@fontsource/commit-mono/files/commit-mono-latin-400-normal.woff2",
  text: `${ASCII}${PUNCTUATION}→✓●`,
  weight: "400",
  // All of them are 0.6 em wide, as it is itself.
  fallbacks: [
    {
      locals: ["Menlo", "Roboto Mono", "DejaVu Sans Mono", "Liberation Mono", "Courier New"],
      metrics: { ascent: 1705, descent: -615, lineGap: 0, unitsPerEm: 2048, xWidthAvg: 1229 },
    },
  ],
};

async function make() {
  const files = new Map();
  const rules = [];
  for (const font of [NEWSREADER, COMMIT_MONO]) {
    const source = await readFile(join(root, "islands/node_modules", font.file));
    const { text, variationAxes, weight, family } = font;
    const options = { targetFormat: "woff2", variationAxes, noLayoutClosure: true };
    const bytes = await subsetFont(source, text, options);
    const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 8);
    const folder = font.windows ? "wide/" : "";
    const name = `${folder}${family.toLowerCase().replace(" ", "-")}.${hash}.woff2`;
    files.set(join(fonts, name), bytes);
    const src = `url("/fonts/${name}") format("woff2")`;
    const itself = face({ fontFamily: family, src, fontWeight: weight, fontDisplay: "optional" });
    const faces = [itself, ...(await fallbackFaces(font, bytes))].join("\n");
    rules.push(font.windows ? `@media ${font.windows} {\n${indented(faces)}}\n` : faces);
  }
  const comment = "/* Made by islands/fonts.mjs; `make fonts` makes it anew. */";
  files.set(sheet, Buffer.from(`${comment}\n${rules.join("\n")}`));
  return files;
}

/** The system's fonts, set so that a line of them is as high and about as wide. */
async function fallbackFaces({ family, fallbacks }, bytes) {
  const metrics = { ...(await fromBlob(new Blob([bytes]))), familyName: family };
  return fallbacks.map(({ locals, metrics: fallback }) => {
    const of = { ...fallback, familyName: locals[0], capHeight: 0, xHeight: 0 };
    const stack = createFontStack([metrics, of], { fontFaceFormat: "styleObject" });
    const [measures] = stack.fontFaces.map((rule) => rule["@font-face"]);
    const src = locals.map((name) => `local("${name}")`).join(", ");
    return face({ ...measures, fontFamily: `${family} as ${locals[0]}`, src });
  });
}

const indented = (text) => text.replace(/^(?=.)/gm, "  ");

function face(properties) {
  const lines = Object.entries(properties).map(([name, value]) => {
    const kebab = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return `  ${kebab}: ${name === "fontFamily" ? `"${value}"` : value};\n`;
  });
  return `@font-face {\n${lines.join("")}}\n`;
}

/** A sentence that changes must not leave the typeface behind. */
async function expectWritable() {
  const sentences = ["src/copy.rs", "src/copy/islands.rs"].map((path) =>
    readFile(join(root, path)),
  );
  const written = (await Promise.all(sentences)).join("");
  const missing = [...new Set(written)].filter((char) => !`${NEWSREADER.text}\n§`.includes(char));
  if (missing.length > 0) throw new Error(`islands/fonts.mjs leaves out ${missing.join(" ")}`);
}

await expectWritable();
const made = await make();
if (process.argv.includes("--check")) {
  for (const [path, bytes] of made) {
    const there = await readFile(path).catch(() => Buffer.alloc(0));
    if (!there.equals(bytes)) {
      console.error(`${path} is not what islands/fonts.mjs makes; run \`make fonts\``);
      process.exit(1);
    }
  }
} else {
  await rm(fonts, { recursive: true, force: true });
  for (const [path, bytes] of made) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    console.log(`${relative(root, path)} ${bytes.length} bytes`);
  }
}
