import { act, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { IslandName } from "./bindings/wire";
import { renderIslands } from "./build/markup";
import { hydrate } from "./hydrate";
import { ISLAND_NAMES, loadIsland } from "./registry";
import { CONTACT_LINKS_PROPS, WAITLIST_FORM_PROPS } from "./test/props";
import { captureErrors, scrollTo } from "./test/setup";
import { dismissAllToasts, openToasts } from "./test/toasts";

const PROPS: Record<IslandName, object> = {
  "demo-terminal": {},
  "waitlist-form": WAITLIST_FORM_PROPS,
  "contact-links": CONTACT_LINKS_PROPS,
  toaster: {},
};

let prerendered: Map<string, string>;

beforeAll(async () => {
  prerendered = await renderIslands();
});

beforeEach(() => {
  vi.stubGlobal("fetch", async () => new Response("taken", { status: 409 }));
});

describe("hydration", () => {
  test("every island is prerendered", () => {
    expect([...prerendered.keys()]).toEqual(ISLAND_NAMES);
  });

  test.each(ISLAND_NAMES)("keeps every node of the server's markup for %s", async (name) => {
    const element = serve(name);
    const nodes = [...element.querySelectorAll("*")];
    const { textContent } = element;
    await hydrateIsland(element, name);
    for (const node of nodes) expect(element.contains(node)).toBe(true);
    expect(element.textContent).toBe(textContent);
  });

  test("keeps text typed earlier, and the form sends it", async () => {
    const user = userEvent.setup();
    const element = serve("waitlist-form");
    const field = screen.getByLabelText<HTMLInputElement>("Email address");
    await user.type(field, "ada@example.com");
    await hydrateIsland(element, "waitlist-form");
    expect(screen.getByLabelText("Email address")).toBe(field);
    expect(field.value).toBe("ada@example.com");
    expect(document.activeElement).toBe(field);
    await user.keyboard("{Enter}");
    await waitFor(() =>
      expect(openToasts()).toMatchObject([{ text: "Email already on waitlist" }]),
    );
    expect(field.value).toBe("ada@example.com");
    dismissAllToasts();
  });

  test("ids are unique across islands", () => {
    const elements = ISLAND_NAMES.flatMap((name) => [...serve(name).querySelectorAll("[id]")]);
    const ids = elements.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("an island that throws", () => {
  test("keeps the server's markup, is logged once, and does not affect other islands", async () => {
    const errors = captureErrors();
    const broken = serve("contact-links");
    const html = broken.innerHTML;
    const healthy = serve("demo-terminal");
    await act(async () => hydrate(broken, "contact-links", Broken, {}));
    await hydrateIsland(healthy, "demo-terminal");

    expect(errors.take()).toEqual([
      ["island contact-links failed:", expect.objectContaining({ message: "broken" })],
    ]);
    expect(broken.firstElementChild?.innerHTML).toBe(html);
    expect(screen.getByRole("link", { name: "Email us" }).getAttribute("href")).toBe(
      "mailto:owner@example.com",
    );
    vi.useFakeTimers();
    scrollTo(1);
    expect(vi.getTimerCount()).toBe(1);
  });
});

function Broken(): never {
  throw new Error("broken");
}

/** Adds an island to the page with its prerendered markup, as the server does. */
function serve(name: IslandName): HTMLElement {
  const values = new Map<string, unknown>(Object.entries(PROPS[name]));
  const markup = prerendered.get(name) ?? "";
  const element = document.createElement("div");
  element.innerHTML = markup.replaceAll(/\{\{(\w+)\}\}/g, (_, prop: string) =>
    String(values.get(prop)),
  );
  document.body.append(element);
  return element;
}

async function hydrateIsland(element: HTMLElement, name: IslandName) {
  const { default: island } = await loadIsland(name);
  await act(async () => hydrate(element, name, island, PROPS[name]));
}
