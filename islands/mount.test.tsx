import { act, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { IslandName } from "./bindings/wire";
import { mount } from "./mount";
import { prerender } from "./prerender";
import { load, NAMES } from "./registry";
import { expectErrors, scrollTo } from "./test/setup";
import { dismiss, snapshot } from "./toast-store";

const PROPS: Record<IslandName, Record<string, string | number | boolean>> = {
  "demo-terminal": {},
  "waitlist-form": {
    product: "Steward",
    count: 41,
    count_from: 0,
    count_state: "live",
    email: "",
    outcome: "",
    invalid: false,
    message: "We'll email you when Steward is ready.",
  },
  "contact-links": {
    email: "owner@example.com",
    social: "https://social.example/@steward",
    social_host: "social.example",
  },
  toaster: {},
};

let prerendered: Map<string, string>;

beforeAll(async () => {
  prerendered = await prerender();
});

beforeEach(() => {
  vi.stubGlobal("fetch", async () => new Response("taken", { status: 409 }));
});

describe("hydration", () => {
  test("every island is prerendered", () => {
    expect([...prerendered.keys()]).toEqual(NAMES);
  });

  test.each(NAMES)(
    "of %s keeps the server's markup, node for node, without an error",
    async (name) => {
      const element = serve(name);
      const nodes = [...element.querySelectorAll("*")];
      const { textContent } = element;
      await hydrate(element, name);
      for (const node of nodes) expect(element.contains(node)).toBe(true);
      expect(element.textContent).toBe(textContent);
    },
  );

  test("keeps what was typed before it, and sends that", async () => {
    const user = userEvent.setup();
    const element = serve("waitlist-form");
    const field = screen.getByLabelText<HTMLInputElement>("Email address");
    await user.type(field, "ada@example.com");
    await hydrate(element, "waitlist-form");
    expect(screen.getByLabelText("Email address")).toBe(field);
    expect(field.value).toBe("ada@example.com");
    expect(document.activeElement).toBe(field);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(snapshot()).toMatchObject([{ text: "Email already on waitlist" }]));
    expect(field.value).toBe("ada@example.com");
    for (const { id } of snapshot()) dismiss(id);
  });

  test("gives two islands of the page different ids", () => {
    const ids = NAMES.flatMap((name) => [...serve(name).querySelectorAll("[id]")]).map(
      ({ id }) => id,
    );
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("an island that throws", () => {
  test("leaves the server's markup, is logged once, and takes no other with it", async () => {
    const errors = expectErrors();
    const broken = serve("contact-links");
    const html = broken.innerHTML;
    const healthy = serve("demo-terminal");
    await act(async () => mount(broken, "contact-links", Broken, {}));
    await hydrate(healthy, "demo-terminal");

    expect(errors.taken()).toEqual([
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

/** Puts an island into the page as the server does. */
function serve(name: IslandName): HTMLElement {
  const element = document.createElement("div");
  element.innerHTML = (prerendered.get(name) ?? "").replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) =>
    String(PROPS[name][key]),
  );
  document.body.append(element);
  return element;
}

async function hydrate(element: HTMLElement, name: IslandName) {
  const { default: island } = await load(name);
  await act(async () => mount(element, name, island, PROPS[name]));
}
