/**
 * `make lighthouse`: what Lighthouse says of the page on a phone (its mobile preset: a slow 4G and a
 * processor four times slower, simulated), as the medians of five visits with one browser: what a
 * browser does once when it starts, such as looking for the system's fonts, is not the page's.
 */
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";
import { BROWSER, FLAGS, serve } from "../site.mjs";

const RUNS = 5;
/** Each with its goal: at least, or at most. */
const SCORES = { performance: 100, accessibility: 100, "best-practices": 100, seo: 100 };
const AT_MOST = {
  "first-contentful-paint": 1000,
  "largest-contentful-paint": 1000,
  "total-blocking-time": 0,
  "cumulative-layout-shift": 0,
  "speed-index": 1000,
};

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const { origin, stop } = await serve();
const reports = [];
const chrome = await launch({
  chromePath: BROWSER,
  chromeFlags: [...FLAGS, "--headless=new", "--disable-background-networking"],
});
for (let run = 0; run < RUNS; run += 1) {
  const result = await lighthouse(`${origin}/`, { port: chrome.port, logLevel: "error" });
  reports.push(result.lhr);
}
chrome.kill();
await stop();

const row = (name, numbers, goal, met) =>
  console.log(
    `${name.padEnd(26)}${String(median(numbers)).padEnd(8)}${goal.padEnd(18)}`,
    [...(met(median(numbers)) ? ["met"] : ["NOT MET"]), numbers.join(" ")].join("  "),
  );
console.log(`${"".padEnd(26)}${"median".padEnd(8)}${"goal".padEnd(18)}`);
for (const [name, goal] of Object.entries(SCORES)) {
  const scores = reports.map(({ categories }) => Math.round(categories[name].score * 100));
  row(name, scores, `at least ${goal}`, (score) => score >= goal);
}
for (const [name, goal] of Object.entries(AT_MOST)) {
  const values = reports.map(({ audits }) => Math.round(audits[name].numericValue * 1000) / 1000);
  const shown = values.map((value) => (name.endsWith("shift") ? value : Math.round(value)));
  const unit = name.endsWith("shift") ? "" : " ms";
  row(name, shown, `at most ${goal}${unit}`, (value) => value <= goal);
}
