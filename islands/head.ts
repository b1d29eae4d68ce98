/**
 * The script in the head of every page. The server writes it into the page, so that it runs before the first paint
 * without a request.
 *
 * - It decides whether the visit uses the typefaces. On a fast line it preloads the fonts. Otherwise the visit
 *   uses the system's fonts, and `boot.ts` loads the typefaces afterwards, so that the next visit has them at once.
 * - After the first paint it loads `boot.ts`.
 *
 * What it loads is in templates of the page (`src/page/head.rs`).
 */

/** What the browser knows about the line. Only Chromium has it, and `type` only on phones and tablets. */
interface Connection {
  effectiveType?: string;
  type?: string;
  saveData?: boolean;
}

/** Narrower windows count as phones. `style/tokens.css` has the same media query. */
const WIDE = "(width >= 45rem)";
/** Types of connections that count as fast, also on a phone. */
const FAST_TYPES = ["wifi", "ethernet"];
/**
 * The longest round trip of a fast line, in milliseconds. A browser waits at most this long for a font with
 * `font-display: optional`.
 */
const MAX_ROUND_TRIP_MS = 100;

/**
 * Longest wait for the report of the first paint after the first frame, in milliseconds. Firefox makes none for a page that
 * opens at a fragment. With 250, the scripts sometimes loaded before a slow first paint, and delayed it.
 */
const PAINT_REPORT_MS = 1000;

const { documentElement: root, head } = document;
const { connection } = navigator as Navigator & { connection?: Connection };
const [visit] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
/** Firefox scrolls to the fragment of the URL before the typefaces change the layout, and does not correct the place. */
const staysInPlace = connection || !location.hash;

if (connection?.saveData) root.dataset["typefaces"] = "never";
else if (staysInPlace && (isRevisit() || isFast())) insert("fonts");
else root.dataset["typefaces"] = "later";
afterFirstPaint(() => insert("boot"));

/**
 * Returns whether the browser has the page in its cache, and so the fonts. Then it asked the server for a newer
 * page, and the response says so.
 */
function isRevisit() {
  return visit?.serverTiming?.some(({ name }) => name === "revisit");
}

function isFast() {
  if (connection) {
    const { effectiveType, type = "" } = connection;
    return effectiveType === "4g" && (matchMedia(WIDE).matches || FAST_TYPES.includes(type));
  }
  return visit && visit.responseStart - visit.requestStart < MAX_ROUND_TRIP_MS;
}

/** Moves what is in a template into the head. A second call finds the template empty. */
function insert(template: string) {
  head.append(head.querySelector<HTMLTemplateElement>(`#${template}`)?.content ?? "");
}

/**
 * Calls back after the first paint, or `PAINT_REPORT_MS` after the first frame, or both. The page can be idle before the
 * first paint, and loading the islands then would delay it.
 */
function afterFirstPaint(callback: () => void) {
  requestAnimationFrame(() => setTimeout(callback, PAINT_REPORT_MS));
  new PerformanceObserver((entries) => {
    if (entries.getEntriesByName("first-contentful-paint")[0]) callback();
  }).observe({ type: "paint", buffered: true });
}

export {};
