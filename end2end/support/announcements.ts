/** Records what a screen reader announces: text that appears in live regions. */
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

/**
 * Starts recording before the page loads. An announcement is text that is added to a live region,
 * or a live region that is added with text. Removals are not announced.
 */
export async function recordAnnouncements(page: Page): Promise<void> {
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
      // A region announces its whole text once, even if several parts of it change together.
      const changedRegions = new Set<Element>();
      for (const { type, target, addedNodes, oldValue } of changes) {
        if (type === "characterData" && oldValue === target.nodeValue) continue;
        const changedNodes = type === "childList" ? [...addedNodes] : [target];
        for (const node of changedNodes) {
          if (!node.textContent?.trim() || !node.isConnected) continue;
          const region = elementOf(node)?.closest(LIVE);
          if (region) changedRegions.add(region);
          else if (node instanceof Element) {
            for (const inner of node.querySelectorAll(LIVE)) changedRegions.add(inner);
          }
        }
      }
      for (const region of changedRegions) {
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

/** Returns the announcements since the last call. */
export function takeAnnouncements(page: Page): Promise<Announcement[]> {
  return page.evaluate(() => window.announcements?.splice(0) ?? []);
}
