/** Hydration keeps the focus, the caret and the text that the visitor has typed before it. */
import { expect, test } from "../support/fixtures.ts";
import { layoutShifts, recordLayoutShifts } from "../support/layout-shifts.ts";

test(
  "hydration keeps typed text, the focus and the caret",
  { tag: "@once" },
  async ({ landing, page }) => {
    await recordLayoutShifts(page);
    // The boot script and the host come after the visitor has begun.
    const releases = [
      await landing.holdRequests("**/islands/*"),
      await landing.holdRequests("**/pkg/*"),
    ];
    await page.goto("/", { waitUntil: "commit" });
    await landing.email.pressSequentially("earlyexample.com");
    for (const _ of "example.com") await page.keyboard.press("ArrowLeft");
    for (const release of releases) release();
    await landing.waitForIslands("waitlist-form");
    await expect(landing.email).toBeFocused();
    await page.keyboard.type("@");
    await expect(landing.email).toHaveValue("early@example.com");
    expect(await layoutShifts(page)).toEqual([]);
  },
);
