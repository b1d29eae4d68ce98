import { act, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { existsSync } from "node:fs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { render, type Variant } from "./build/markup";
import { ISLAND_NAMES } from "./build/options.mjs";
import { hydrate, type Island } from "./hydrate";
import { CONTACT_LINKS_PROPS, WAITLIST_FORM_PROPS } from "./test/props";
import { captureErrors, scrollTo } from "./test/setup";
import { openToast } from "./test/toasts";
import { dismissToast } from "./toast-store";
import { VARIANTS as FORMS } from "./waitlist-form/variants";

/** The properties of each island. Tests read the texts of these two. */
const PROPS: Record<string, object> = {
  "waitlist-form": WAITLIST_FORM_PROPS,
  "contact-links": CONTACT_LINKS_PROPS,
};
for (const name of ISLAND_NAMES) PROPS[name] ??= await sampleProps(name);

beforeEach(() => {
  vi.stubGlobal("fetch", async () => new Response("taken", { status: 409 }));
});

describe("hydration", () => {
  test.each([
    ...ISLAND_NAMES.filter((name) => name !== "waitlist-form").map((name): [string, object] => [
      name,
      {},
    ]),
    ...FORMS.map(({ step, outcome }): [string, object] => ["waitlist-form", { step, outcome }]),
  ])("keeps every node of the server's markup for %s %j", async (name, change) => {
    const props = { ...PROPS[name], ...change };
    const element = await serve(name, props);
    const nodes = [...element.querySelectorAll("*")];
    const { textContent } = element;
    await hydrateIsland(element, name, props);
    for (const node of nodes) expect(element.contains(node)).toBe(true);
    expect(element.textContent).toBe(textContent);
  });

  test("keeps text typed earlier, and the form sends it", async () => {
    const user = userEvent.setup();
    const element = await serve("waitlist-form");
    const field = screen.getByLabelText<HTMLInputElement>("Email address");
    await user.type(field, "ada@example.com");
    await hydrateIsland(element, "waitlist-form");
    expect(screen.getByLabelText("Email address")).toBe(field);
    expect(field.value).toBe("ada@example.com");
    expect(document.activeElement).toBe(field);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(openToast()).toMatchObject({ text: "Email already on waitlist" }));
    expect(field.value).toBe("ada@example.com");
    dismissToast();
  });

  test("keeps a foreign element that is first, even if React rebuilds the island", async () => {
    const errors = captureErrors();
    const element = await serve("contact-links");
    element.querySelector("a")?.remove();
    element.prepend(document.createElement("extension-root"));
    await hydrateIsland(element, "contact-links");
    expect(errors.take()).toHaveLength(1);
    expect(element.querySelector("extension-root")).not.toBeNull();
    expect(screen.getAllByRole("link")).toHaveLength(2);
  });

  test("keeps the typed text and the focus if React rebuilds the form", async () => {
    const user = userEvent.setup();
    const errors = captureErrors();
    const element = await serve("waitlist-form");
    element.querySelector("button")?.remove();
    await user.type(screen.getByLabelText("Email address"), "ada@example.com");
    await hydrateIsland(element, "waitlist-form");
    expect(errors.take()).toHaveLength(1);
    const field = screen.getByLabelText<HTMLInputElement>("Email address");
    expect(document.activeElement).toBe(field);
    await user.keyboard("{End}!");
    expect(field.value).toBe("ada@example.com!");
  });

  test("ids are unique across islands", async () => {
    const served = await Promise.all(ISLAND_NAMES.map((name) => serve(name)));
    const elements = served.flatMap((element) => [...element.querySelectorAll("[id]")]);
    const ids = elements.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("an island that throws", () => {
  test("keeps the server's markup, is logged once, and does not affect other islands", async () => {
    const errors = captureErrors();
    const broken = await serve("contact-links");
    const html = broken.innerHTML;
    const healthy = await serve("demo-terminal");
    // In `act`, React would throw the error instead of passing it on.
    vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", false);
    hydrate(broken, "contact-links", Broken, {});
    vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
    await hydrateIsland(healthy, "demo-terminal");

    expect(errors.take()).toEqual([
      ["island contact-links failed:", expect.objectContaining({ message: "broken" })],
    ]);
    expect(broken.innerHTML).toBe(html);
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

/** Returns what the markup of an island is rendered with, if not with a placeholder for each property. */
async function variants(name: string): Promise<object[] | undefined> {
  const hasVariants = existsSync(`${import.meta.dirname}/${name}/variants.ts`);
  return hasVariants ? (await import(`./${name}/variants.ts`)).VARIANTS : undefined;
}

/** Returns the first variant's properties, or a text for each placeholder in the markup. */
async function sampleProps(name: string): Promise<object> {
  const [{ markup } = { markup: "" }] = render(name, await load(name));
  const texts = [...markup.matchAll(/\{\{(\w+)\}\}/g)].map(([, prop]) => [prop, `a ${prop}`]);
  return (await variants(name))?.[0] ?? Object.fromEntries(texts);
}

async function load(name: string): Promise<Island> {
  const module = await import(`./${name}/${name}.tsx`);
  expect(module.hydrate).toBe(hydrate);
  return module.default;
}

/** Adds an island to the page with its prerendered markup, as the server does. */
async function serve(name: string, props = PROPS[name] ?? {}): Promise<HTMLElement> {
  const values = new Map<string, unknown>(Object.entries(props));
  const isFor = ({ when = {} }: Variant) =>
    Object.entries(when).every(([prop, text]) => values.get(prop) === text);
  const markup = render(name, await load(name), await variants(name)).find(isFor)?.markup ?? "";
  const element = document.createElement("div");
  element.innerHTML = markup.replaceAll(/\{\{(\w+)\}\}/g, (_, prop: string) =>
    String(values.get(prop)),
  );
  const section = document.body.appendChild(document.createElement("section"));
  section.append(element);
  return element;
}

async function hydrateIsland(element: HTMLElement, name: string, props = PROPS[name] ?? {}) {
  const island = await load(name);
  await act(async () => hydrate(element, name, island, props));
}
