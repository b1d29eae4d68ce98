import { beforeEach, describe, expect, test, vi } from "vitest";
import { FAILED, SAVED } from "./test/toasts";

const REMOVAL_DELAY_MS = 1_000_000;

/** Imported again for each test, because the module holds the state. */
let store: typeof import("./toast-store");

beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  store = await import("./toast-store");
});

describe("toast store", () => {
  test("§4 is empty at first, and a new toast is open with its title, text and variant", () => {
    expect(store.getSnapshot()).toBeUndefined();
    store.showToast(SAVED);
    expect(store.getSnapshot()).toMatchObject({ ...SAVED, open: true });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§9 holds one toast: a new one replaces the current one", () => {
    store.showToast(SAVED);
    const first = store.getSnapshot()?.id;
    store.showToast(FAILED);
    expect(store.getSnapshot()).toMatchObject({ ...FAILED, open: true });
    expect(store.getSnapshot()?.id).not.toBe(first);
  });

  test("§9 keeps a dismissed toast closed, and removes it exactly 1,000,000 ms later", () => {
    store.showToast(SAVED);
    store.dismissToast();
    expect(store.getSnapshot()).toMatchObject({ ...SAVED, open: false });
    vi.advanceTimersByTime(REMOVAL_DELAY_MS - 1);
    expect(store.getSnapshot()).toBeDefined();
    vi.advanceTimersByTime(1);
    expect(store.getSnapshot()).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§9 a second dismissal does not delay the removal", () => {
    store.showToast(SAVED);
    store.dismissToast();
    vi.advanceTimersByTime(REMOVAL_DELAY_MS / 2);
    store.dismissToast();
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(REMOVAL_DELAY_MS / 2);
    expect(store.getSnapshot()).toBeUndefined();
  });

  test("§9 the removal of a dismissed toast keeps a newer one", () => {
    store.showToast(SAVED);
    store.dismissToast();
    store.showToast(FAILED);
    vi.advanceTimersByTime(REMOVAL_DELAY_MS);
    expect(store.getSnapshot()).toMatchObject({ ...FAILED, open: true });
  });

  test("§4 a dismissal without a toast changes nothing", () => {
    const listener = vi.fn();
    store.subscribe(listener);
    store.dismissToast();
    expect(listener).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§4 a late subscriber sees the open toast", () => {
    store.showToast(SAVED);
    const listener = vi.fn();
    store.subscribe(listener);
    expect(listener).not.toHaveBeenCalled();
    expect(store.getSnapshot()).toMatchObject({ ...SAVED, open: true });
  });

  test("says whether there is a toaster that announces a toast", () => {
    expect(store.showToast(SAVED)).toBe(false);
    store.subscribe(() => {});
    expect(store.showToast(SAVED)).toBe(true);
  });

  test("§4 notifies every subscriber of each change until it unsubscribes", () => {
    const [first, second] = [vi.fn(), vi.fn()];
    const unsubscribe = store.subscribe(first);
    store.subscribe(second);
    store.showToast(SAVED);
    unsubscribe();
    store.dismissToast();
    vi.advanceTimersByTime(REMOVAL_DELAY_MS);
    expect(first).toHaveBeenCalledTimes(1);
    expect(second).toHaveBeenCalledTimes(3);
  });

  test("the snapshot is the same object until something changes", () => {
    store.showToast(SAVED);
    const before = store.getSnapshot();
    expect(store.getSnapshot()).toBe(before);
    store.dismissToast();
    expect(store.getSnapshot()).not.toBe(before);
    expect(before).toMatchObject({ open: true });
  });
});
