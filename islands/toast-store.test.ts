import { beforeEach, describe, expect, test, vi } from "vitest";

const REMOVAL_DELAY = 1_000_000;
const SAVED = { title: "Saved", text: "All is well.", variant: "default" } as const;
const FAILED = { title: "Error", text: "All is lost.", variant: "destructive" } as const;

/** A new store for each test: it lives as long as its module. */
let store: typeof import("./toast-store");

beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  store = await import("./toast-store");
});

describe("toast store", () => {
  test("§4 is empty at first, and shows a toast open with its title, text and variant", () => {
    expect(store.snapshot()).toEqual([]);
    store.toast(SAVED);
    expect(store.snapshot()).toMatchObject([{ ...SAVED, open: true }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§9 shows at most one toast: a new one takes the place of the one before", () => {
    store.toast(SAVED);
    const first = onlyId();
    store.toast(FAILED);
    expect(store.snapshot()).toMatchObject([{ ...FAILED, open: true }]);
    expect(onlyId()).not.toBe(first);
  });

  test("§9 keeps a dismissed toast, closed, and removes it exactly 1,000,000 ms later", () => {
    store.toast(SAVED);
    store.dismiss(onlyId());
    expect(store.snapshot()).toMatchObject([{ ...SAVED, open: false }]);
    vi.advanceTimersByTime(REMOVAL_DELAY - 1);
    expect(store.snapshot()).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(store.snapshot()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§9 dismissing twice doesn't put off the removal", () => {
    store.toast(SAVED);
    const id = onlyId();
    store.dismiss(id);
    vi.advanceTimersByTime(REMOVAL_DELAY / 2);
    store.dismiss(id);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(REMOVAL_DELAY / 2);
    expect(store.snapshot()).toEqual([]);
  });

  test("§9 the removal of a dismissed toast leaves the one that came after it", () => {
    store.toast(SAVED);
    store.dismiss(onlyId());
    store.toast(FAILED);
    vi.advanceTimersByTime(REMOVAL_DELAY);
    expect(store.snapshot()).toMatchObject([{ ...FAILED, open: true }]);
  });

  test("§4 dismissing a toast that is not there changes nothing", () => {
    store.toast(SAVED);
    const before = store.snapshot();
    store.dismiss(onlyId() + 1);
    expect(store.snapshot()).toBe(before);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("§4 who subscribes late sees the toast that is open", () => {
    store.toast(SAVED);
    const listener = vi.fn();
    store.subscribe(listener);
    expect(listener).not.toHaveBeenCalled();
    expect(store.snapshot()).toMatchObject([{ ...SAVED, open: true }]);
  });

  test("a toast that no toaster shows within a second is taken back, and said elsewhere", () => {
    const unseen = vi.fn();
    store.toast(SAVED, unseen);
    vi.advanceTimersByTime(999);
    expect(store.snapshot()).toMatchObject([{ ...SAVED, open: true }]);
    vi.advanceTimersByTime(1);
    expect(store.snapshot()).toEqual([]);
    expect(unseen).toHaveBeenCalledOnce();
  });

  test("a toast that a toaster shows within a second stays", () => {
    const unseen = vi.fn();
    store.toast(SAVED, unseen);
    store.subscribe(() => {});
    vi.advanceTimersByTime(1000);
    expect(store.snapshot()).toMatchObject([{ ...SAVED, open: true }]);
    expect(unseen).not.toHaveBeenCalled();
  });

  test("§4 tells every subscriber of each change, until it unsubscribes", () => {
    const [first, second] = [vi.fn(), vi.fn()];
    const unsubscribe = store.subscribe(first);
    store.subscribe(second);
    store.toast(SAVED);
    unsubscribe();
    store.dismiss(onlyId());
    vi.advanceTimersByTime(REMOVAL_DELAY);
    expect(first).toHaveBeenCalledTimes(1);
    expect(second).toHaveBeenCalledTimes(3);
  });

  test("the snapshot stays the same array until something changes", () => {
    store.toast(SAVED);
    const before = store.snapshot();
    expect(store.snapshot()).toBe(before);
    store.dismiss(onlyId());
    expect(store.snapshot()).not.toBe(before);
    expect(before).toMatchObject([{ open: true }]);
  });
});

function onlyId(): number {
  const [toast, ...others] = store.snapshot();
  expect(others).toEqual([]);
  return toast?.id ?? Number.NaN;
}
