/** The toasts, outside React, so that separate roots share them: a toaster that subscribes late still
 * shows the toast that is open. */

export interface Toast {
  readonly id: number;
  readonly title: string;
  readonly text: string;
  readonly variant: "default" | "destructive";
  readonly open: boolean;
}

/** Toasts visible at once (spec §9). */
const LIMIT = 1;
/** From a toast's dismissal to its removal, in milliseconds (spec §9). */
const REMOVAL_DELAY = 1_000_000;
/** How long a toast waits for a toaster that is still loading, in milliseconds. */
const TOASTER_TIMEOUT = 1000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

/** Shows a toast in place of the current one. If no toaster subscribes within a second, the toast is removed
 * and `onUnseen` is called. */
export function toast(
  shown: Pick<Toast, "title" | "text" | "variant">,
  onUnseen?: () => void,
): void {
  lastId += 1;
  const id = lastId;
  change([{ ...shown, id, open: true }, ...toasts].slice(0, LIMIT));
  if (!onUnseen || listeners.size > 0) return;
  setTimeout(() => {
    if (listeners.size > 0 || id !== lastId) return;
    change(toasts.filter((toast) => toast.id !== id));
    onUnseen();
  }, TOASTER_TIMEOUT);
}

/** Closes a toast. It stays for its way out, and is removed later. */
export function dismiss(id: number): void {
  if (!toasts.some((toast) => toast.id === id && toast.open)) return;
  change(toasts.map((toast) => (toast.id === id ? { ...toast, open: false } : toast)));
  setTimeout(() => change(toasts.filter((toast) => toast.id !== id)), REMOVAL_DELAY);
}

/** For `useSyncExternalStore`. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The newest first; the same array until something changes. */
export function snapshot(): readonly Toast[] {
  return toasts;
}

function change(next: readonly Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}
