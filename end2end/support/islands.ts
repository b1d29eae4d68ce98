/** Whether React has mounted these islands, or all if none is named. Runs in the page, so it uses nothing outside itself. */
export function areMounted(islands: string[]): boolean {
  const hasKey = (node: Element | undefined, prefix: string) =>
    node !== undefined && Object.keys(node).some((key) => key.startsWith(prefix));
  const elements = [...document.querySelectorAll<HTMLElement>("[data-island]")];
  const names = islands.length === 0 ? elements.map((it) => it.dataset["island"]) : islands;
  return names.every((name) => {
    const host = elements.find((it) => it.dataset["island"] === name);
    const isEmpty = host?.childElementCount === 0;
    return hasKey(host, "__reactContainer") && (isEmpty || hasKey(host?.children[0], "__react"));
  });
}
