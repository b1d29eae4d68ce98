/** Spec §1: what the page says. */
import { expect, test } from "../support/fixtures.ts";

const PROMISES = [
  /business plan/i,
  /launches your website/i,
  /runs your marketing/i,
  /texts you when sales come in/i,
  /chat assistant/i,
  /decentralized storage/i,
  /you own it/i,
  /unlimited scaling/i,
  /no platform shutdown/i,
];
const FEATURES = [
  "S3-compatible storage",
  "File explorer",
  "Built-in editor",
  "Local credentials",
  "Analytics",
  "24/7 operation",
];

test(
  "§1 the page says what the agent does, has six features, and compares it with a chat assistant",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.open();
    const text = await page.getByRole("main").innerText();
    for (const promise of PROMISES) expect(text).toMatch(promise);
    const features = landing.section("features").getByRole("heading", { level: 3 });
    await expect(features).toHaveText(FEATURES);
    const rows = landing.section("comparison").getByRole("listitem");
    await expect(rows).toHaveCount(6);
    for (const row of await rows.all()) {
      await expect(row).toContainText("A chat assistant");
      await expect(row).toContainText("Steward");
    }
  },
);
