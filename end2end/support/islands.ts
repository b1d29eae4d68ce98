/** Which islands of the page React has mounted. */
export const ISLANDS = ["demo-terminal", "waitlist-form", "contact-links", "toaster"] as const;
export type Island = (typeof ISLANDS)[number];

/** Whether React has mounted these islands. Runs in the page, so it uses nothing outside itself. */
export function areMounted(islands: Island[]): boolean {
  const hasKey = (node: Element | undefined, prefix: string) =>
    node !== undefined && Object.keys(node).some((key) => key.startsWith(prefix));
  return islands.every((island) => {
    const host = document.querySelector(`[data-island=${island}]`) ?? undefined;
    const isEmpty = host?.childElementCount === 0;
    return hasKey(host, "__reactContainer") && (isEmpty || hasKey(host?.children[0], "__react"));
  });
}
