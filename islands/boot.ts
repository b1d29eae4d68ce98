/**
 * The one script of the page. Waits until the page is painted and idle, or an island is touched,
 * then loads the wasm host and hands it the way to React. If anything fails to load, the page stays
 * as the server sent it, and one line in the console says so.
 */
import { load } from "./registry";

/** Longest wait for an idle moment, in milliseconds. Safari, which cannot report one, waits a tenth of it. */
const PATIENCE = 2000;
const TOUCHES = ["pointerover", "focusin"] as const;

/** The glue that wasm-bindgen makes of `src/host.rs`. */
interface Host {
  default(options: { module_or_path: Response }): Promise<unknown>;
  start(
    islands: { mount(element: HTMLElement, settled: (mounted: boolean) => void): void },
    page: Document,
  ): void;
}

async function boot() {
  await parsed();
  const script = document.querySelector<HTMLElement>("script[data-host]");
  const { host = "", wasm = "", manifest = "" } = script?.dataset ?? {};
  // In the HTML, the manifest would be fetched before the first paint, on its own connection.
  link("manifest", manifest);
  // The host will want these at once.
  for (const island of document.querySelectorAll<HTMLElement>("[data-start=visible]")) {
    const { top, bottom } = island.getBoundingClientRect();
    if (top < innerHeight && bottom > 0) fetchModules(island);
  }
  const loaded: Promise<[Host, Response]> = Promise.all([import(host), fetch(wasm)]);
  const [{ default: init, start }, response] = await loaded;
  await init({ module_or_path: response });
  const mount = async (element: HTMLElement, settled: (mounted: boolean) => void) => {
    const mounted = await hydrate(element);
    whenIdle(() => settled(mounted));
  };
  start({ mount }, document);
}

/** Waits until the page is parsed: an async script may run before that. */
async function parsed() {
  if (document.readyState !== "loading") return;
  await new Promise((resolve) => addEventListener("DOMContentLoaded", resolve));
}

/** Returns whether it worked. If not, the host may try again. */
async function hydrate(element: HTMLElement): Promise<boolean> {
  fetchModules(element);
  const { island = "", props = "" } = element.dataset;
  try {
    const { mount, default: component } = await load(island);
    mount(element, island, component, JSON.parse(props));
    return true;
  } catch (error) {
    reportOnce(error);
    return false;
  }
}

/** Preloads all modules of an island in parallel. Otherwise the browser discovers nested imports one round
 * trip at a time. */
function fetchModules({ dataset: { modules = "" } }: HTMLElement) {
  for (const href of modules.split(" ")) link("modulepreload", href);
}

function link(rel: string, href: string) {
  document.head.append(Object.assign(document.createElement("link"), { rel, href }));
}

/** Logs the first failure only: the others have the same cause. */
let reportOnce = (error: unknown) => {
  reportOnce = () => {};
  console.error("the islands failed to load:", error);
};

let begun = false;
function begin() {
  if (begun) return;
  begun = true;
  boot().catch((error: unknown) => {
    reportOnce(error);
    // At the next touch once more: perhaps the network is back.
    begun = false;
  });
}

function beginIfTouched({ target }: Event) {
  if (target instanceof Element && target.closest("[data-island]")) begin();
}

for (const touch of TOUCHES) addEventListener(touch, beginIfTouched);
// From now on the page scrolls smoothly (base.css).
addEventListener("load", () => {
  document.documentElement.dataset["loaded"] = "";
});
afterFirstPaint(() => whenIdle(begin));
// Focus may have been there before this script.
if (document.activeElement?.closest("[data-island]")) begin();

function whenIdle(then: () => void) {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(then, { timeout: PATIENCE });
  else setTimeout(then, PATIENCE / 10);
}

/** An idle moment can come before the first paint, and what is loaded then delays it. */
function afterFirstPaint(then: () => void) {
  if (!PerformanceObserver.supportedEntryTypes.includes("paint")) return then();
  new PerformanceObserver((entries, observer) => {
    if (entries.getEntriesByName("first-contentful-paint").length === 0) return;
    observer.disconnect();
    then();
  }).observe({ type: "paint", buffered: true });
}
