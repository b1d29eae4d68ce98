/** Sample toasts, and access to the toast store. */
import { getSnapshot } from "../toast-store";

export const SAVED = { title: "Saved", text: "All is well.", variant: "default" } as const;
export const FAILED = { title: "Error", text: "All is lost.", variant: "destructive" } as const;

export function openToast() {
  const toast = getSnapshot();
  return toast?.open ? toast : undefined;
}
