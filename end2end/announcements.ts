/** What a screen reader is told without having been asked. */
import type { Page } from "@playwright/test";

export interface Announcement {
  politeness: string;
  text: string;
}

declare global {
  interface Window {
    announcements?: Announcement[];
  }
}

/** Notes from the beginning what live regions say: each time that text comes into one, or a region
 * comes with text. What is taken away is not said. */
export async function listen(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const announcements: Announcement[] = [];
    window.announcements = announcements;
    const LIVE = "[aria-live], [role=status], [role=alert], [role=log], output";
    const BY_ROLE: Record<string, string> = { status: "polite", alert: "assertive", log: "polite" };
    const politenessOf = (region: Element) =>
      region.getAttribute("aria-live") ??
      BY_ROLE[region.getAttribute("role") ?? "status"] ??
      "polite";
    const elementOf = (node: Node) => (node instanceof Element ? node : node.parentElement);

    new MutationObserver((changes) => {
      // One region says one thing, of however many parts.
      const speaking = new Set<Element>();
      for (const { type, target, addedNodes, oldValue } of changes) {
        if (type === "characterData" && oldValue === target.nodeValue) continue;
        const spoken = type === "childList" ? [...addedNodes] : [target];
        for (const node of spoken) {
          if (!node.textContent?.trim() || !node.isConnected) continue;
          const around = elementOf(node)?.closest(LIVE);
          if (around) speaking.add(around);
          else if (node instanceof Element) {
            for (const region of node.querySelectorAll(LIVE)) speaking.add(region);
          }
        }
      }
      for (const region of speaking) {
        const text = region.textContent?.trim().replaceAll(/\s+/g, " ");
        const politeness = politenessOf(region);
        if (text && politeness !== "off") announcements.push({ politeness, text });
      }
    }).observe(document, {
      subtree: true,
      childList: true,
      characterData: true,
      characterDataOldValue: true,
    });
  });
}

/** What has been said since the last time that one asked. */
export function heard(page: Page): Promise<Announcement[]> {
  return page.evaluate(() => window.announcements?.splice(0) ?? []);
}
