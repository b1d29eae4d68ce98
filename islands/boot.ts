/**
 * The first script that the page loads: `head.ts` does so after the first paint. Waits until the page is idle. Then loads
 * the wasm host and passes it the function that mounts an island. If anything fails to load, the page stays as the server
 * sent it, and the first failure is logged.
 */

import type { IslandModule } from "./hydrate";

/**
 * Longest wait for an idle moment, in milliseconds. Safari does not report idle moments: there the wait is
 * a tenth of this.
 */
const IDLE_TIMEOUT_MS = 2000;

type Mount = (element: HTMLElement, onSettled: (mounted: boolean) => void) => void;

/** The JavaScript that wasm-bindgen generates for `islands/host`. */
interface HostModule {
  default(options: { module_or_path: Response }): Promise<unknown>;
  start(mount: Mount, page: Document): void;
}

async function boot() {
  await parsed();
  const script = document.querySelector<HTMLElement>("script[data-host]");
  const { host = "", wasm = "", manifest = "" } = script?.dataset ?? {};
  // A link in the HTML would fetch the manifest before the first paint, on a separate connection.
  addLink("manifest", manifest);
  // The host mounts the first island in view first, unless it starts later.
  const islands = [...document.querySelectorAll<HTMLElement>("[data-start=visible]")];
  const first = islands.find(isInView);
  if (first) preloadModules(first);
  const loaded: Promise<[HostModule, Response]> = Promise.all([import(host), fetch(wasm)]);
  const [{ default: init, start: startHost }, response] = await loaded;
  await init({ module_or_path: response });
  startHost(mount, document);
  whenIdle(loadTypefaces);
}

/**
 * Loads the typefaces that this visit does without, for the next one. No text uses them, so nothing changes.
 * `head.ts` decides.
 */
function loadTypefaces() {
  if (document.documentElement.dataset["typefaces"] !== "later") return;
  // The others are the system's fonts, with other metrics.
  for (const face of document.fonts) if (face.display === "optional") face.load().catch(() => {});
}

/** Waits until the page is parsed. An async script can run earlier. */
async function parsed() {
  if (document.readyState !== "loading") return;
  await new Promise((resolve) => addEventListener("DOMContentLoaded", resolve));
}

/** Loads and hydrates an island. Says in an idle moment after that whether it is mounted: if not, the host may try again. */
const mount: Mount = async (element, onSettled) => {
  preloadModules(element);
  let isMounted = false;
  const { island = "", props = "", modules = "" } = element.dataset;
  const [url = ""] = modules.split(" ");
  try {
    const { hydrate, default: component }: IslandModule = await import(url);
    // As a separate task: together with React's start, it would block taps on a slow phone for longer.
    await new Promise((resolve) => setTimeout(resolve));
    hydrate(element, island, component, JSON.parse(props));
    isMounted = true;
  } catch (error) {
    reportOnce(error);
  }
  whenIdle(() => onSettled(isMounted));
};

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

/**
 * Preloads all modules of an island in parallel. Without it, the browser discovers nested imports one round
 * trip at a time.
 */
function preloadModules({ dataset: { modules = "" } }: HTMLElement) {
  for (const href of modules.split(" ")) addLink("modulepreload", href);
}

function addLink(rel: string, href: string) {
  document.head.append(Object.assign(document.createElement("link"), { rel, href }));
}

/** Logs the first failure only: later ones have the same cause. */
let reportOnce = (error: unknown) => {
  reportOnce = () => {};
  console.error("the islands failed to load:", error);
};

/**
 * Tab may leave a part of a control out of view: in Chromium a field while the page scrolls smoothly, in WebKit always a
 * field, and a link. Both scroll to the caret only. The header needs no scroll.
 */
addEventListener("keyup", ({ key, target }) => {
  if (key === "Tab" && target instanceof Element && target.closest("main"))
    target.scrollIntoView({ block: "nearest" });
});

function start() {
  boot().catch((error: unknown) => {
    reportOnce(error);
    // When the focus moves next, the network may be back.
    addEventListener("focusin", start, { once: true });
  });
}

whenIdle(start);

function whenIdle(callback: () => void) {
  if ("requestIdleCallback" in globalThis)
    requestIdleCallback(callback, { timeout: IDLE_TIMEOUT_MS });
  else setTimeout(callback, IDLE_TIMEOUT_MS / 10);
}
