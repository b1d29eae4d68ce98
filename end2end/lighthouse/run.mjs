/**
 * Runs Lighthouse against the release build, for `make lighthouse`, and prints the medians of five
 * visits. It uses the mobile preset: simulated slow 4G and a processor four times slower. One
 * browser makes all visits, because work at its start, such as finding system fonts, is not the
 * page's.
 */
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";
import { CHROMIUM, SANDBOX_FLAGS } from "../support/browser.mjs";
import { Site } from "../support/site.mjs";

const RUNS = 5;
/** Goals for the scores, at least. */
const MIN_SCORES = { performance: 100, accessibility: 100, "best-practices": 100, seo: 100 };
/** Goals for the metrics, at most, in milliseconds. The layout shift has no unit. */
const MAX_METRICS = {
  "first-contentful-paint": 1000,
  "largest-contentful-paint": 1000,
  "total-blocking-time": 0,
  "cumulative-layout-shift": 0,
  "speed-index": 1000,
};

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const site = await Site.start();
const reports = [];
const browser = await launch({
  chromePath: CHROMIUM,
  chromeFlags: [...SANDBOX_FLAGS, "--headless=new", "--disable-background-networking"],
});
for (let run = 0; run < RUNS; run += 1) {
  const result = await lighthouse(`${site.origin}/`, { port: browser.port, logLevel: "error" });
  reports.push(result.lhr);
}
browser.kill();
await site.stop();

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
