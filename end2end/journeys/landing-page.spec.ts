/** Spec §2: how the page is laid out, and where its links lead. */
import { misplacedText } from "../support/text-layout.ts";
import { expect, test } from "./fixtures.ts";
import { eventually, type Visitor } from "./visitor.ts";

/** Each link and button, and the section that it leads to. No two in a row lead to the same one. */
const LINKS = {
  Contact: "contact",
  "vs ChatGPT": "comparison",
  "Get Started": "contact",
  Demo: "demo",
  "Launch Your AI Agent": "contact",
  "Watch Demo": "demo",
  "Start Your Agent Now": "contact",
  Features: "features",
};

/** Waits until the top of a section is below the header. */
async function expectBelowHeader(visitor: Visitor, section: string): Promise<void> {
  await expect(async () => {
    const header = await visitor.edges(".nav-bar");
    const distance = (await visitor.edges(`section#${section}`)).top - header.bottom;
    expect(distance).toBeGreaterThanOrEqual(-4);
    expect(distance).toBeLessThan(40);
  }).toPass({ timeout: 10_000 });
}

/** Waits until a link has led to a section, which is below the header and has the focus. */
async function expectToBeAt(visitor: Visitor, section: string): Promise<void> {
  await eventually(() => visitor.path()).toBe(`/#${section}`);
  await expectBelowHeader(visitor, section);
  await eventually(() => visitor.focus()).toBe(`#${section}`);
}

test(
  "§2 each link and each button scrolls to its section",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ visitor }) => {
    await visitor.open();
    for (const [link, section] of Object.entries(LINKS)) {
      await visitor.follow(link);
      await expectToBeAt(visitor, section);
    }
  },
);

test(
  "§2 each section can be opened directly",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ settings, visitor }) => {
    // The first one is at the end of the page, where a late typeface would have moved it furthest. Known fault: without
    // JavaScript it does in Firefox.
    const sections = [...new Set(Object.values(LINKS))];
    for (const section of settings.javaScript ? sections : sections.toReversed()) {
      await visitor.driver.get("about:blank");
      await visitor.open(`/#${section}`);
      await expectBelowHeader(visitor, section);
    }
  },
);

test(
  "§2 the header is above the title, with all its links in view and no menu, and its bar stays at the top",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ visitor }) => {
    await visitor.open();
    expect(await visitor.texts("nav a")).toEqual(["Features", "vs ChatGPT", "Demo", "Contact"]);
    expect(await visitor.texts("header button, [role=menu]")).toEqual([]);
    expect(await visitor.isInView("header a")).toBe(true);
    expect((await visitor.edges("h1")).top).toBeGreaterThan((await visitor.edges("header")).bottom);
    const bar = await visitor.edges(".nav-bar");
    expect(bar.top).toBe(0);
    for (const place of ["#demo", "footer"]) {
      await visitor.scrollTo(place);
      expect(await visitor.edges(".nav-bar")).toEqual(bar);
      expect(await visitor.isInView(".nav-bar a")).toBe(true);
    }
  },
);

test("§2 links scroll smoothly", { tag: ["@core", "@motion"] }, async ({ visitor }) => {
  // Again on a busy machine, which may not draw a position in between.
  const positions = eventually(() => scrollToContact(visitor), { timeout: 40_000 });
  await positions.toBeGreaterThan(0);
});

test(
  "every text has room, in every section",
  { tag: ["@core", "@everywhere"] },
  async ({ visitor }) => {
    await visitor.open();
    await eventually(() => visitor.evaluate(() => document.fonts.status)).toBe("loaded");
    expect(await visitor.evaluate(misplacedText)).toEqual([]);
    const { scrollWidth, clientWidth } = await visitor.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return { scrollWidth, clientWidth };
    });
    expect(scrollWidth).toBe(clientWidth);
  },
);

test(
  "§2 any other path shows the not-found page with a link to the landing page",
  { tag: ["@core", "@everywhere"] },
  async ({ visitor }) => {
    await visitor.open("/no/such/page");
    expect(await visitor.title()).toBe("404 Page Not Found");
    expect(await visitor.text("main")).toContain("Did you forget to add the page to the router?");
    expect(await visitor.evaluate(misplacedText)).toEqual([]);
    await visitor.follow("Demo");
    await eventually(() => visitor.path()).toBe("/#demo");
    await expectBelowHeader(visitor, "demo");
    await visitor.open("/no/such/page");
    await visitor.follow("Go to Home Page");
    await eventually(() => visitor.path()).toBe("/");
  },
);

/**
 * Opens the page and follows the link to the last section. Returns how many positions the page showed between the start
 * and the end of the scroll.
 */
async function scrollToContact(visitor: Visitor): Promise<number> {
  await visitor.open();
  await visitor.evaluate(() => {
    const positions: number[] = [];
    addEventListener("scroll", () => {
      positions.push(scrollY);
      document.documentElement.dataset["positions"] = JSON.stringify(positions);
    });
  });
  await visitor.follow("Contact");
  await expectToBeAt(visitor, "contact");
  return visitor.evaluate(() => {
    const positions: number[] = JSON.parse(document.documentElement.dataset["positions"] ?? "[]");
    const end = positions.at(-1) ?? 0;
    return positions.filter((position) => position > 0.05 * end && position < 0.9 * end).length;
  });
}
