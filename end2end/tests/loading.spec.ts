/** What is loaded, when, how much of it, and what is left when it does not come. */
import type { Page } from "@playwright/test";
import budgets from "../budgets.json" with { type: "json" };
import { bytesOf, plainName, watchChain } from "../delivery.ts";
import { expect, freshAddress, test } from "../fixtures.ts";
import { shifts, watchShifts } from "../measure.ts";

const ISLANDS = ["demo-terminal", "waitlist-form", "contact-links", "toaster"];
/** React's and the islands' scripts. */
const ISLAND_SCRIPTS = /\/islands\/(?!boot-)/;

/** The URLs that a page names in an attribute, in its HTML as it is sent. */
async function named(page: Page, attribute: string): Promise<string[]> {
  const html = await (await page.request.get("/")).text();
  const values = [...html.matchAll(new RegExp(`${attribute}="([^"]+)"`, "g"))];
  return values.flatMap(([, value = ""]) => value.split(" "));
}

/** Every request from now on. */
function watchRequests(page: Page): string[] {
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  return urls;
}

test.describe("budgets", { tag: "@once" }, () => {
  const files: Record<keyof typeof budgets, (page: Page) => Promise<string[]>> = {
    page: async () => ["/"],
    boot: (page) => named(page, "src"),
    host: async (page) => [
      ...(await named(page, "data-host")),
      ...(await named(page, "data-wasm")),
    ],
    islands: async (page) => [...new Set(await named(page, "data-modules"))],
    fonts: async (page) => (await named(page, "href")).filter((url) => url.endsWith(".woff2")),
  };

  for (const [name, { is, bytes }] of Object.entries(budgets)) {
    test(`${is}: at most ${bytes} bytes`, async ({ page, site }) => {
      const urls = await files[name as keyof typeof budgets](page);
      expect(urls, "they are found").not.toEqual([]);
      const sizes = await Promise.all(urls.map((url) => bytesOf(`${site.origin}${url}`)));
      const sum = sizes.reduce((sum, size) => sum + size, 0);
      console.log(`${is}: ${sum} of ${bytes} bytes`);
      expect(sum).toBeLessThanOrEqual(bytes);
    });
  }

  test("the not-found page fits into the same budget", async ({ request }) => {
    const answer = await request.get("/nothing", { headers: { "Accept-Encoding": "br" } });
    expect(Number(answer.headers()["content-length"])).toBeLessThanOrEqual(budgets.page.bytes);
  });
});

test.describe("a first visit", { tag: "@once" }, () => {
  for (const [device, width, fonts] of [
    ["phone", 390, ["newsreader.woff2"]],
    ["desktop", 1280, ["commit-mono.woff2", "newsreader.woff2"]],
  ] as const) {
    test(`on a ${device} asks for the page, its fonts, and ten kilobytes of code`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height: 800 });
      const requests = watchRequests(page);
      const host = page.waitForResponse("**/pkg/*.wasm");
      await landing.open();
      await (await host).finished();
      // Idle once more: all that is not asked for now waits for the visitor.
      await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
      const code = ["boot.js", "landing.js", "landing.wasm"];
      // Browsers ask for an icon when they like.
      const asked = requests.map(plainName).filter((name) => !name.startsWith("favicon"));
      expect(asked.sort()).toEqual(["", ...code, ...fonts].sort());
    });
  }

  test("links the manifest after the first paint", async ({ landing, page }) => {
    await landing.open();
    const manifest = page.locator("link[rel=manifest]");
    await expect(manifest).toHaveAttribute("href", /^\/site\.[0-9a-f]{8}\.webmanifest$/);
    const answer = await page.request.get((await manifest.getAttribute("href")) ?? "");
    expect(answer.headers()["content-type"]).toBe("application/manifest+json");
  });

  test("is painted without any script", async ({ landing, page }) => {
    const letGo = await landing.hold("**/islands/boot-*.js");
    await page.goto("/", { waitUntil: "commit" });
    await page.waitForFunction(
      () => performance.getEntriesByName("first-contentful-paint").length > 0,
    );
    const scripts = await page.evaluate(() => ({
      arrived: performance
        .getEntriesByType("resource")
        .filter(({ name }) => /\.(js|wasm)$/.test(name)),
      islands: document.querySelectorAll("[data-island] *").length,
    }));
    expect(scripts.arrived).toEqual([]);
    expect(scripts.islands, "the islands are there to see").toBeGreaterThan(20);
    letGo();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await landing.ready("waitlist-form");
  });

  test("loads nothing but its boot script before it is painted", async ({ landing, page }) => {
    await landing.open();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await landing.ready("toaster");
    const { painted, first } = await page.evaluate(() => ({
      painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
      first: Math.min(
        ...performance
          .getEntriesByType("resource")
          .filter(({ name }) => /\.(js|wasm)$/.test(name) && !name.includes("/boot-"))
          .map(({ startTime }) => startTime),
      ),
    }));
    expect(painted).toBeGreaterThan(0);
    expect(first).toBeGreaterThan(painted);
    expect(first, "something was loaded at all").toBeLessThan(Number.POSITIVE_INFINITY);
  });

  test("has nothing that blocks its first paint", async ({ landing, page }) => {
    await landing.open();
    const blocking = await page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .filter((entry) => "renderBlockingStatus" in entry)
        .filter((entry) => entry.renderBlockingStatus === "blocking")
        .map(({ name }) => name),
    );
    expect(blocking).toEqual([]);
  });
});

test.describe("the chain of requests", { tag: "@once" }, () => {
  // Opened at a section, the page is there at once.
  test.use({ contextOptions: { reducedMotion: "reduce" } });

  test("is two long at most: the boot script, and then everything else at once", async ({
    landing,
    page,
  }) => {
    const depths = await watchChain(page);
    await landing.open();
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.section("contact").scrollIntoViewIfNeeded();
    for (const island of ISLANDS) await landing.ready(island);
    const code = [...depths].filter(([path]) => !path.startsWith("/api/"));
    const boot = code.find(([path]) => path.includes("/boot-"));
    expect(boot?.[1]).toBe(1);
    expect(code.filter(([path]) => ISLAND_SCRIPTS.test(path)).length).toBeGreaterThan(4);
    expect(code.filter(([, depth]) => depth > 2)).toEqual([]);
  });

  test("of an island in view does not wait for the host", async ({ landing, page }) => {
    const letGo = await landing.hold("**/pkg/*");
    const requests = watchRequests(page);
    await page.goto("/#contact");
    const modules = await page
      .locator("[data-island=waitlist-form]")
      .evaluate(({ dataset }) => dataset["modules"]?.split(" ") ?? []);
    expect(modules.length).toBeGreaterThan(2);
    await expect
      .poll(() => requests.map((url) => new URL(url).pathname))
      .toEqual(expect.arrayContaining(modules));
    letGo();
    await landing.ready("waitlist-form");
  });

  test("has all modules of an island side by side", async ({ landing, page }) => {
    await landing.open();
    const wanted = await page
      .locator("[data-island=waitlist-form]")
      .evaluate(({ dataset }) => dataset["modules"]?.split(" ") ?? []);
    const letGo = await landing.hold("**/islands/*");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await landing.email.focus();
    // None has been answered yet.
    await expect.poll(() => asked).toEqual(expect.arrayContaining(wanted));
    letGo();
    await landing.ready("waitlist-form");
  });
});

test.describe("the form", { tag: "@once" }, () => {
  test("does not wait for the code of toasts and tooltips", async ({ landing, page }) => {
    const letGo = await landing.hold("**/islands/{toaster,contact-links}-*");
    await page.goto("/#contact");
    await landing.ready("waitlist-form");
    await landing.submit.click();
    await expect(landing.email).toBeFocused();
    await expect(landing.message).toHaveText("Please enter your email address");
    await expect(landing.toasts, "nobody is there to show it").toHaveCount(0);
    letGo();
    await landing.ready("toaster");
    await landing.submit.click();
    await expect(landing.toasts).toContainText("Error");
  });

  test("is hydrated before that code is even asked for", async ({ landing, page }) => {
    const letGo = await landing.hold("**/islands/waitlist-form-*");
    const requests = watchRequests(page);
    const form = page.waitForRequest("**/islands/waitlist-form-*");
    await page.goto("/#contact");
    await form;
    await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
    const others = () => requests.filter((url) => /(toaster|contact-links)-/.test(url));
    expect(others()).toEqual([]);
    letGo();
    await landing.ready("toaster");
    expect(others()).toHaveLength(2);
  });
});

test.describe("hydration", () => {
  test("keeps what was typed before it, the focus and the caret", async ({ landing, page }) => {
    await watchShifts(page);
    // Nothing is ready while the host is held back.
    const letGo = await landing.hold("**/pkg/*.wasm");
    await landing.open();
    await landing.email.pressSequentially("earlyexample.com");
    for (const _ of "example.com") await page.keyboard.press("ArrowLeft");
    letGo();
    await landing.ready("waitlist-form");
    await expect(landing.email).toBeFocused();
    await page.keyboard.type("@");
    await expect(landing.email).toHaveValue("early@example.com");
    expect(await shifts(page)).toEqual([]);
  });

  test("keeps the focus on a link that was reached before it", async ({ landing, page }) => {
    const letGo = await landing.hold("**/islands/contact-links-*");
    await landing.open();
    const link = page.getByRole("link", { name: "Email us" });
    await link.focus();
    letGo();
    await landing.ready("contact-links");
    await expect(link).toBeFocused();
  });
});

test.describe("when scripts do not come", () => {
  const LINE = /the islands failed to load/;
  test.use({ expectedConsole: new RegExp(`${LINE.source}|Failed to load resource`) });

  for (const [what, url] of [
    ["the glue", "**/pkg/*.js"],
    ["the wasm", "**/pkg/*.wasm"],
    ["React", "**/islands/chunk-*.js"],
    ["the form's own code", "**/islands/waitlist-form-*.js"],
  ] as const) {
    for (const [how, status] of [
      ["blocked", undefined],
      ["not found", 404],
    ] as const) {
      test(`with ${what} ${how} one line says so, and the form posts itself`, async ({
        landing,
        page,
        site,
      }) => {
        const lines: string[] = [];
        page.on("console", (line) => {
          if (!line.text().startsWith("Failed to load resource")) lines.push(line.text());
        });
        await page.route(url, (route) => (status ? route.fulfill({ status }) : route.abort()));
        const told = page.waitForEvent("console", (line) => LINE.test(line.text()));
        await landing.open();
        await landing.section("demo").scrollIntoViewIfNeeded();
        await landing.section("contact").scrollIntoViewIfNeeded();
        await told;
        await expect(landing.lines).toHaveCount(9);
        const email = freshAddress();
        await landing.email.focus();
        expect(lines).toEqual([expect.stringMatching(LINE)]);
        await landing.join(email);
        await expect(landing.message).toContainText("You've been added to the waitlist.");
        expect(await site.join(email)).toBe(409);
      });
    }
  }

  test("without the boot script nothing is said, and the form posts itself", async ({
    landing,
    page,
    site,
  }) => {
    await page.route("**/islands/boot-*.js", (route) => route.abort());
    await landing.open();
    await expect(landing.lines).toHaveCount(9);
    const email = freshAddress();
    await landing.join(email);
    await expect(landing.message).toContainText("You've been added to the waitlist.");
    expect(await site.join(email)).toBe(409);
  });

  test("in a tunnel one line says so, and the form works after it", async ({
    context,
    landing,
    page,
  }) => {
    const lines: string[] = [];
    page.on("console", (line) => {
      if (!line.text().startsWith("Failed to load resource")) lines.push(line.text());
    });
    const host = page.waitForResponse("**/pkg/*.wasm");
    await landing.open();
    await (await host).finished();
    await context.setOffline(true);
    const told = page.waitForEvent("console", (line) => LINE.test(line.text()));
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await told;
    await landing.observersTold();
    expect(lines).toEqual([expect.stringMatching(LINE)]);
    await context.setOffline(false);
    await landing.join(freshAddress());
    await expect(landing.message).toContainText("You've been added to the waitlist.");
  });
});

test.describe("a second visit", { tag: "@once" }, () => {
  test("asks for the page alone, and has it already when nothing changed", async ({
    landing,
    page,
  }) => {
    await landing.open();
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.section("contact").scrollIntoViewIfNeeded();
    for (const island of ISLANDS) await landing.ready(island);
    await page.goto("about:blank");

    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Network.enable");
    const asked: string[] = [];
    devtools.on("Network.responseReceivedExtraInfo", ({ statusCode, headers }) => {
      asked.push(`${statusCode} ${headers["content-type"] ?? ""}`.trim());
    });
    await landing.open();
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.section("contact").scrollIntoViewIfNeeded();
    for (const island of ISLANDS) await landing.ready(island);
    const [first, ...others] = asked;
    expect(first, "the page").toBe("304");
    expect(
      others.filter((answer) => answer !== "200 application/json"),
      "beside the count, which is asked for",
    ).toEqual([]);
  });
});
