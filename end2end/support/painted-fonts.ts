/** Which fonts the page is painted with. */
import type { Page } from "@playwright/test";

/** Returns the fonts that the browser has painted the page's text with. */
export async function paintedFonts(page: Page): Promise<Set<string>> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("DOM.enable");
  await devtools.send("CSS.enable");
  const { root } = await devtools.send("DOM.getDocument");
  const { nodeIds } = await devtools.send("DOM.querySelectorAll", {
    nodeId: root.nodeId,
    selector: "body *",
  });
  const painted = new Set<string>();
  for (const nodeId of nodeIds) {
    const { fonts } = await devtools.send("CSS.getPlatformFontsForNode", { nodeId });
    for (const { familyName, isCustomFont } of fonts) {
      painted.add(`${familyName}, ${isCustomFont ? "web font" : "system font"}`);
    }
  }
  return painted;
}
