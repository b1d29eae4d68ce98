/**
 * The one script of the page. Waits until the page is idle or an island is touched, then loads the
 * wasm host and hands it the way to React. If anything fails to load, the page stays as the server
 * sent it.
 */
import { load } from "./registry";

/** Longest wait for an idle moment, in milliseconds. */
const PATIENCE = 2000;
const TOUCHES = ["pointerover", "focusin"] as const;

interface Host {
  default(options: { module_or_path: string }): Promise<unknown>;
  start(registry: {
    mount(element: HTMLElement, name: string, props: object): Promise<void>;
  }): void;
}

async function boot() {
  const { host, wasm } = document.querySelector<HTMLElement>("script[data-host]")?.dataset ?? {};
  if (!host || !wasm) throw new Error("the page names no host");
  const { default: init, start }: Host = await import(host);
  await init({ module_or_path: wasm });
  start({
    async mount(element, name, props) {
      const [{ mount }, component] = await Promise.all([import("./mount"), load(name)]);
      mount(element, name, component, props);
    },
  });
}

let begun = false;
function begin() {
  if (begun) return;
  begun = true;
  for (const touch of TOUCHES) removeEventListener(touch, beginIfTouched);
  boot().catch((error: unknown) => console.error("the islands failed to load:", error));
}

function beginIfTouched({ target }: Event) {
  if (target instanceof Element && target.closest("[data-island]")) begin();
}

for (const touch of TOUCHES) addEventListener(touch, beginIfTouched);
afterFirstPaint(() => {
  // Safari has no requestIdleCallback.
  if ("requestIdleCallback" in globalThis) requestIdleCallback(begin, { timeout: PATIENCE });
  else setTimeout(begin, PATIENCE / 10);
});
// Focus may have been there before this script.
if (document.activeElement?.closest("[data-island]")) begin();

/** An idle moment can come before the first paint, and what is loaded then delays it. */
function afterFirstPaint(then: () => void) {
  if (!PerformanceObserver.supportedEntryTypes.includes("paint")) return then();
  new PerformanceObserver((entries, observer) => {
    if (entries.getEntriesByName("first-contentful-paint").length === 0) return;
    observer.disconnect();
    then();
  }).observe({ type: "paint", buffered: true });
}
