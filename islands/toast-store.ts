/**
 * The toasts, kept outside React because every island is a separate React root. A toaster that subscribes
 * late still shows the open toast.
 */

export interface Toast {
  readonly id: number;
  readonly title: string;
  readonly text: string;
  readonly variant: "default" | "destructive";
  readonly open: boolean;
}

/** Maximum number of toasts visible at once (spec §9). */
const MAX_VISIBLE = 1;
/** Delay between the dismissal of a toast and its removal, in milliseconds (spec §9). */
const REMOVAL_DELAY_MS = 1_000_000;
/** Longest wait for a toaster that is still loading, in milliseconds. */
const TOASTER_TIMEOUT_MS = 1000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

/**
 * Shows a toast, which replaces the current one. If no toaster subscribes within a second, removes the toast
 * and calls `onUnseen`.
 */
export function showToast(
  content: Pick<Toast, "title" | "text" | "variant">,
  onUnseen?: () => void,
): void {
  lastId += 1;
  const id = lastId;
  const shown = { ...content, id, open: true };
  update([shown, ...toasts].slice(0, MAX_VISIBLE));
  if (!onUnseen || listeners.size > 0) return;
  setTimeout(() => {
    // A dismissed toast is another object.
    if (listeners.size > 0 || !toasts.includes(shown)) return;
    update(toasts.filter((toast) => toast.id !== id));
    onUnseen();
  }, TOASTER_TIMEOUT_MS);
}

/** Closes a toast. It stays in the store for its exit animation, and is removed later. */
export function dismissToast(id: number): void {
  if (!toasts.some((toast) => toast.id === id && toast.open)) return;
  update(toasts.map((toast) => (toast.id === id ? { ...toast, open: false } : toast)));
  setTimeout(() => update(toasts.filter((toast) => toast.id !== id)), REMOVAL_DELAY_MS);
}

/** Closes all toasts. */
export function dismissToasts(): void {
  for (const { id } of toasts) dismissToast(id);
}

/** Calls `listener` after each change. Returns the function that unsubscribes it. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the toasts, newest first. The array stays the same until something changes. */
export function getSnapshot(): readonly Toast[] {
  return toasts;
}

function update(next: readonly Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}
