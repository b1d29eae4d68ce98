/**
 * Makes the pictures from the running site and from `public/favicon.svg`: the icons that browsers
 * ask for as PNG and ICO, the social card, and the README's picture. `make pictures` runs it, with
 * the owner's settings: the card shows the product's name.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";
import { BROWSER, FLAGS, serve } from "./site.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const file = (path) => join(root, path);

/** Side in pixels; the mark's share of it; whether the icon keeps the mark's round corners. A
 * maskable icon's safe zone is a circle of 80 % of its width (W3C, Web Application Manifest), and
 * iOS cuts its own corners. */
const ICONS = [
  { path: "public/apple-touch-icon.png", side: 180, share: 0.8, rounded: false },
  { path: "public/icon-192.png", side: 192, share: 1, rounded: true },
  { path: "public/icon-512.png", side: 512, share: 1, rounded: true },
  { path: "public/icon-maskable-512.png", side: 512, share: 0.7, rounded: false },
];
const FAVICON_SIDE = 32;

const browser = await chromium.launch({
  executablePath: BROWSER,
  args: [
    ...FLAGS,
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
  ],
});
const { origin, stop } = await serve();
try {
  const svg = await readFile(file("public/favicon.svg"), "utf8");
  for (const icon of ICONS) await writeFile(file(icon.path), await draw(svg, icon));
  const small = await draw(svg, { side: FAVICON_SIDE, share: 1, rounded: true });
  await writeFile(file("public/favicon.ico"), ico(small));
  await socialCard();
  await readmePicture();
} finally {
  await browser.close();
  await stop();
}

async function open(width, height, colorScheme) {
  const viewport = { width, height };
  const page = await browser.newPage({ viewport, colorScheme, reducedMotion: "reduce" });
  await page.goto(origin);
  // Fonts that came late are used from the second visit on.
  await page.reload({ waitUntil: "networkidle" });
  return page;
}

/** The mark in the middle of a square of its own ground. */
async function draw(svg, { side, share, rounded }) {
  const page = await browser.newPage({
    viewport: { width: side, height: side },
    colorScheme: "light",
  });
  const ground = /rect \{ fill: ([^}]+?) *\}/.exec(svg)?.[1];
  await page.setContent(
    `<style>body { margin: 0; height: 100vh; display: grid; place-items: center;
      ${rounded ? "" : `background: ${ground}`} } svg { width: ${share * 100}% }</style>${svg}`,
  );
  const png = await page.screenshot({ omitBackground: true });
  await page.close();
  return png;
}

/** An icon file around one PNG: a header of 6 bytes, then an entry of 16. */
function ico(png) {
  const header = Buffer.alloc(22);
  header.writeUInt16LE(1, 2); // an icon, not a cursor
  header.writeUInt16LE(1, 4); // one picture
  header.writeUInt8(FAVICON_SIDE, 6);
  header.writeUInt8(FAVICON_SIDE, 7);
  header.writeUInt16LE(1, 10); // planes
  header.writeUInt16LE(32, 12); // bits per pixel
  header.writeUInt32LE(png.length, 14);
  header.writeUInt32LE(header.length, 18);
  return Buffer.concat([header, png]);
}

/** The promise and the terminal of the page itself, on the stage. */
async function socialCard() {
  const page = await open(1200, 630, "dark");
  await page.evaluate(() => {
    const copy = (selector) => document.querySelector(selector)?.cloneNode(true) ?? "";
    const card = document.createElement("div");
    card.className = "card-of-the-page stage";
    card.append(copy(".nav-brand"), copy("h1"), copy(".terminal"));
    document.body.replaceChildren(card);
  });
  await page.addStyleTag({
    content: `
      body { padding: 0; overflow: hidden }
      .card-of-the-page { position: relative; inline-size: 1200px; block-size: 630px; padding: 64px }
      .nav-brand { display: flex; align-items: center; gap: 14px; color: inherit;
        font-size: 38px; text-decoration: none }
      h1 { margin-block-start: 34px; font-size: 84px }
      .terminal { position: absolute; inset: 366px 64px auto; font-size: 28px;
        border-block-end: 0; border-radius: 10px 10px 0 0 }
      .terminal-lines { padding: 22px 32px 40px }
      .terminal-lines li[data-kind=check] { display: none }`,
  });
  await page.screenshot({ path: file("public/social-card.png") });
  await page.close();
}

/** The first screen in both schemes, half and half. */
async function readmePicture() {
  const halves = [];
  for (const scheme of ["light", "dark"]) {
    const page = await open(1280, 800, scheme);
    halves.push((await page.screenshot()).toString("base64"));
    await page.close();
  }
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const [light, dark] = halves.map((png) => `data:image/png;base64,${png}`);
  await page.setContent(
    `<style>body { margin: 0 } img { position: absolute; inset: 0 }
      img + img { clip-path: polygon(58% 0, 100% 0, 100% 100%, 42% 100%) }</style>
      <img src="${light}"><img src="${dark}">`,
    { waitUntil: "networkidle" },
  );
  await page.screenshot({ path: file(".github/page.png") });
  await page.close();
}
