/**
 * The toast, kept outside React because every island is a separate React root. A toaster that subscribes late still
 * shows the open toast. Spec §9 allows one toast at once.
 */

export interface Toast {
  readonly id: number;
  readonly title: string;
  readonly text: string;
  readonly variant: "default" | "destructive";
  readonly open: boolean;
}

/** Delay between the dismissal of a toast and its removal, in milliseconds (spec §9). */
const REMOVAL_DELAY_MS = 1_000_000;

let toast: Toast | undefined;
const listeners = new Set<() => void>();

/** Shows a toast, which replaces the current one. Returns whether there is a toaster that announces it. */
export function showToast(content: Pick<Toast, "title" | "text" | "variant">): boolean {
  update({ ...content, id: (toast?.id ?? 0) + 1, open: true });
  return listeners.size > 0;
}

/** Closes the toast. It is removed later. */
export function dismissToast(): void {
  if (!toast?.open) return;
  const dismissed = { ...toast, open: false };
  update(dismissed);
  setTimeout(() => {
    if (toast === dismissed) update(undefined);
  }, REMOVAL_DELAY_MS);
}

/** Calls `listener` after each change. Returns the function that unsubscribes it. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the toast. The object stays the same until something changes. */
export function getSnapshot(): Toast | undefined {
  return toast;
}

function update(next: Toast | undefined) {
  toast = next;
  for (const listener of listeners) listener();
}
