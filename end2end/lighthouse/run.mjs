/**
 * Runs Lighthouse against the release build, for `make bench NAME=lighthouse`, and prints the
 * medians of five visits. It uses the mobile preset: simulated slow 4G and a processor four times
 * slower. One browser makes all visits, because work at its start, such as finding system fonts,
 * is not the page's.
 *
 * In turns with the page it visits a bare one with the same texts and headers: without a style, a script, a drawing or an
 * attribute. It prints how many times as long the page takes to paint. Machines differ in the times, but less in this
 * ratio.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { brotliCompressSync } from "node:zlib";
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";
import { CHROMIUM, SANDBOX_FLAGS } from "../support/browser.mjs";
import { Site } from "../support/site.mjs";

const RUNS = 5;
const MAX_ATTEMPTS = 3;
/** Goals for the scores, at least. */
const MIN_SCORES = { performance: 100, accessibility: 100, "best-practices": 100, seo: 100 };
/** Goals for the metrics, at most, in milliseconds. The layout shift has no unit. */
const MAX_METRICS = {
  "first-contentful-paint": 1000,
  "largest-contentful-paint": 900,
  "total-blocking-time": 0,
  "cumulative-layout-shift": 0,
  "speed-index": 1000,
};

/** The paint that is compared with that of the bare page, and the goal for the ratio, at most. */
const PAINT = "largest-contentful-paint";
const MAX_RATIO = 1.05;
/** On a slow machine the first layout of any page blocks: only what is beyond the bare page's time is this page's. */
const BLOCKING = "total-blocking-time";

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const site = await Site.start();
// Another server has the bare page, and sends it with the headers of the site's page.
// The headers of a response cannot be changed.
const response = await fetch(site.origin);
const headers = new Headers(response.headers);
for (const name of ["content-length", "content-security-policy", "etag"]) headers.delete(name);
headers.set("content-encoding", "br");
const bareHtml = brotliCompressSync(withoutMarkup(await response.text()));
const bare = createServer((_request, response) => {
  response.setHeaders(headers).end(bareHtml);
}).listen(0, "127.0.0.1");
await once(bare, "listening");
const barePage = `http://127.0.0.1:${bare.address().port}/`;
const reports = [];
const bareReports = [];
const browser = await launch({
  chromePath: CHROMIUM,
  chromeFlags: [...SANDBOX_FLAGS, "--headless=new", "--disable-background-networking"],
});
// On a busy machine Lighthouse sometimes misses a paint. Then it visits the page again.
const visit = async (url, settings) => {
  const flags = { port: browser.port, logLevel: "error", ...settings };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { lhr } = await lighthouse(url, flags);
    if (lhr.audits[PAINT].numericValue > 0) return lhr;
  }
  throw new Error(`Lighthouse saw no paint of ${url} in ${MAX_ATTEMPTS} visits: run it again`);
};
try {
  for (let run = 0; run < RUNS; run += 1) {
    reports.push(await visit(site.origin));
    bareReports.push(await visit(barePage, { onlyAudits: [PAINT, BLOCKING] }));
  }
} finally {
  browser.kill();
  await site.stop();
  bare.close();
}

const printRow = (name, values, goal, isMet) =>
  console.log(
    `${name.padEnd(26)}${String(median(values)).padEnd(8)}${goal.padEnd(18)}`,
    [isMet(median(values)) ? "met" : "NOT MET", values.join(" ")].join("  "),
  );
console.log(`${"".padEnd(26)}${"median".padEnd(8)}${"goal".padEnd(18)}`);
for (const [name, goal] of Object.entries(MIN_SCORES)) {
  const scores = reports.map(({ categories }) => Math.round(categories[name].score * 100));
  printRow(name, scores, `at least ${goal}`, (score) => score >= goal);
}
for (const [name, goal] of Object.entries(MAX_METRICS)) {
  const values = reports.map(({ audits }) => Math.round(audits[name].numericValue * 1000) / 1000);
  const rounded = values.map((value) => (name.endsWith("shift") ? value : Math.round(value)));
  const unit = name.endsWith("shift") ? "" : " ms";
  printRow(name, rounded, `at most ${goal}${unit}`, (value) => value <= goal);
}
/** Returns an audit's value of each report, in whole milliseconds. */
const times = (reports, name) => reports.map(({ audits }) => Math.round(audits[name].numericValue));
for (const name of [PAINT, BLOCKING])
  console.log(`${name} of the bare page: ${times(bareReports, name).join(" ")} ms`);
const ratio = median(times(reports, PAINT)) / median(times(bareReports, PAINT));
const verdict = ratio <= MAX_RATIO ? "met" : "NOT MET";
console.log(`${PAINT}: ${ratio.toFixed(2)} times, at most ${MAX_RATIO}: ${verdict}`);

/** Returns a page with the same texts: elements without attributes. */
function withoutMarkup(html) {
  return html
    .replaceAll(/<(script|style|template|noscript|svg)\b[^]*?<\/\1>|<link[^>]*>/g, "")
    .replaceAll(/<(?!!|meta name="viewport"|html)([a-z]\w*)[^>]*>/g, "<$1>");
}
