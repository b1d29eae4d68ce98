/**
 * Runs Lighthouse against the release build, for `make bench NAME=lighthouse`, and prints the
 * medians of five visits. It uses the mobile preset: simulated slow 4G and a processor four times
 * slower. One browser makes all visits, because work at its start, such as finding system fonts,
 * is not the page's.
 *
 * In turns with the page it visits a trivial one with the same headers, and prints how many times as long
 * the page takes to paint. Machines differ in the times, but less in this ratio.
 */
import { once } from "node:events";
import { createServer } from "node:http";
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

/** The paints that are compared with those of the trivial page, and the goal for the ratio, at most. */
const PAINTS = ["first-contentful-paint", "largest-contentful-paint"];
const MAX_RATIO = 1.2;
/** Lighthouse takes only HTML, so `/robots.txt` would not do. */
const TRIVIAL_PAGE = `<!DOCTYPE html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Trivial</title><p>A trivial page.`;

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const site = await Site.start();
// Another server has the trivial page, and sends it with the headers of the site's page.
// The headers of a response cannot be changed.
const headers = new Headers((await fetch(site.origin)).headers);
for (const name of ["content-encoding", "content-length", "content-security-policy", "etag"])
  headers.delete(name);
const trivial = createServer((_request, response) => {
  response.setHeaders(headers).end(TRIVIAL_PAGE);
}).listen(0, "127.0.0.1");
await once(trivial, "listening");
const trivialPage = `http://127.0.0.1:${trivial.address().port}/`;
const reports = [];
const trivialReports = [];
const browser = await launch({
  chromePath: CHROMIUM,
  chromeFlags: [...SANDBOX_FLAGS, "--headless=new", "--disable-background-networking"],
});
// On a busy machine Lighthouse sometimes misses a paint. Then it visits the page again.
const visit = async (url, settings) => {
  const flags = { port: browser.port, logLevel: "error", ...settings };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { lhr } = await lighthouse(url, flags);
    if (PAINTS.every((name) => lhr.audits[name].numericValue > 0)) return lhr;
  }
  throw new Error(`Lighthouse saw no paint of ${url} in ${MAX_ATTEMPTS} visits: run it again`);
};
try {
  for (let run = 0; run < RUNS; run += 1) {
    reports.push(await visit(site.origin));
    trivialReports.push(await visit(trivialPage, { onlyAudits: PAINTS }));
  }
} finally {
  browser.kill();
  await site.stop();
  trivial.close();
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
const numbers = (reports, name) => reports.map(({ audits }) => audits[name].numericValue);
for (const name of PAINTS) {
  const trivial = numbers(trivialReports, name);
  const ratio = median(numbers(reports, name)) / median(trivial);
  console.log(
    `${name}: ${ratio.toFixed(2)} times that of a trivial page, at most ${MAX_RATIO}:`,
    ratio <= MAX_RATIO ? "met;" : "NOT MET;",
    `the trivial page: ${trivial.map(Math.round).join(" ")} ms`,
  );
}
