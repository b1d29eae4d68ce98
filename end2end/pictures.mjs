/**
 * Draws the images that are made from the site itself: the icons, the social card and the README's
 * picture. `make generate NAME=pictures` runs it in your environment, so the card shows the
 * product's name.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";
import { CHROMIUM, RENDERING_FLAGS, SANDBOX_FLAGS } from "./support/browser.mjs";
import { Site } from "./support/site.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const file = (path) => join(root, path);

/**
 * Icons with their side in pixels, the logo's share of it, and whether the logo keeps its rounded
 * square. The safe zone of a maskable icon is a circle of 80 % of its width (W3C, Web Application
 * Manifest). iOS rounds the corners itself.
 */
const ICONS = [
  { path: "public/apple-touch-icon.png", side: 180, share: 0.8, rounded: false },
  { path: "public/icon-192.png", side: 192, share: 1, rounded: true },
  { path: "public/icon-512.png", side: 512, share: 1, rounded: true },
  { path: "public/icon-maskable-512.png", side: 512, share: 0.7, rounded: false },
];
const FAVICON_SIDE = 32;

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: [...SANDBOX_FLAGS, ...RENDERING_FLAGS],
});
const site = await Site.start();
try {
  const logo = await readFile(file("public/favicon.svg"), "utf8");
  for (const icon of ICONS) await writeFile(file(icon.path), await drawIcon(logo, icon));
  const favicon = await drawIcon(logo, { side: FAVICON_SIDE, share: 1, rounded: true });
  await writeFile(file("public/favicon.ico"), ico(favicon));
  await drawSocialCard();
  await drawReadmePicture();
} finally {
  await browser.close();
  await site.stop();
}

/** Opens the landing page in its own fonts. */
async function open(width, height, colorScheme) {
  const viewport = { width, height };
  const page = await browser.newPage({
    viewport,
    colorScheme,
    reducedMotion: "reduce",
    // The policy forbids the social card's `<style>` element.
    bypassCSP: true,
  });
  await page.goto(site.origin);
  // A font that loads late is used from the second visit on.
  await page.reload({ waitUntil: "networkidle" });
  return page;
}

/** Draws the logo in the middle of a square that has the logo's background colour. */
async function drawIcon(logo, { side, share, rounded }) {
  const page = await browser.newPage({
    viewport: { width: side, height: side },
    colorScheme: "light",
  });
  const background = /rect \{ fill: ([^}]+?) *\}/.exec(logo)?.[1];
  await page.setContent(
    `<style>body { margin: 0; height: 100vh; display: grid; place-items: center;
      ${rounded ? "" : `background: ${background}`} } svg { width: ${share * 100}% }</style>${logo}`,
  );
  const png = await page.screenshot({ omitBackground: true });
  await page.close();
  return png;
}

/** Returns an ICO file with one PNG: a header of 6 bytes and an entry of 16 bytes, then the PNG. */
function ico(png) {
  const header = Buffer.alloc(22);
  header.writeUInt16LE(1, 2); // type: icon
  header.writeUInt16LE(1, 4); // number of images
  header.writeUInt8(FAVICON_SIDE, 6);
  header.writeUInt8(FAVICON_SIDE, 7);
  header.writeUInt16LE(1, 10); // planes
  header.writeUInt16LE(32, 12); // bits per pixel
  header.writeUInt32LE(png.length, 14);
  header.writeUInt32LE(header.length, 18);
  return Buffer.concat([header, png]);
}

/** Draws the social card from the page's own brand, title and terminal. */
async function drawSocialCard() {
  const page = await open(1200, 630, "dark");
  await page.evaluate(() => {
    const clone = (selector) => document.querySelector(selector)?.cloneNode(true) ?? "";
    const card = document.createElement("div");
    card.className = "social-card stage";
    card.append(clone(".nav-brand"), clone("h1"), clone(".terminal"));
    document.body.replaceChildren(card);
  });
  await page.addStyleTag({
    content: `
      body { padding: 0; overflow: hidden }
      .social-card { position: relative; inline-size: 1200px; block-size: 630px; padding: 64px }
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

/** Draws the first screen, half in light and half in dark. */
async function drawReadmePicture() {
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
