/** Which files the page loads and when, on a first visit and on a second one. */
import { expect, test } from "../support/fixtures.ts";
import { recordRequestDepths, recordRequests, unhashedName } from "../support/network.ts";

/** The scripts of React and the islands. */
const ISLAND_SCRIPTS = /\/islands\/(?!boot-)/;

test.describe("a first visit", { tag: "@once" }, () => {
  for (const [device, width, fonts] of [
    ["phone", 390, ["newsreader.woff2"]],
    ["desktop", 1280, ["commit-mono.woff2", "newsreader.woff2"]],
  ] as const) {
    test(`on a ${device} loads only the page, its fonts, the boot script and the host`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height: 800 });
      const requests = recordRequests(page);
      await landing.open();
      const code = ["boot.js", "host.js", "host.wasm"];
      // Browsers choose themselves when to request an icon.
      const names = () =>
        requests
          .map(unhashedName)
          .filter((name) => !name.startsWith("favicon"))
          .sort();
      const expected = ["", ...code, ...fonts].sort();
      await expect.poll(names).toEqual(expected);
      await page.waitForLoadState("networkidle");
      // After the next idle moment, everything else waits until the visitor acts.
      await landing.waitForIdle();
      expect(names()).toEqual(expected);
      // Linked, but browsers fetch it only to install the page.
      const manifest = page.locator("link[rel=manifest]");
      await expect(manifest).toHaveAttribute("href", /^\/site\.[0-9a-f]{8}\.webmanifest$/);
    });
  }
});

test.describe("the request chain", { tag: "@once" }, () => {
  // Jumps instead of smooth scrolling, so that the page is at its section at once.
  test.use({ contextOptions: { reducedMotion: "reduce" } });

  test("is at most two deep: the boot script, then everything else", async ({ landing, page }) => {
    const depths = await recordRequestDepths(page);
    await landing.open();
    await landing.scrollThroughIslands();
    await landing.waitForIslands();
    const files = [...depths].filter(([path]) => !path.startsWith("/api/"));
    const boot = files.find(([path]) => path.includes("/boot-"));
    expect(boot?.[1]).toBe(1);
    expect(files.filter(([path]) => ISLAND_SCRIPTS.test(path)).length).toBeGreaterThan(4);
    expect(files.filter(([, depth]) => depth > 2)).toEqual([]);
  });

  test("of an island in view does not include the host", async ({ landing, page }) => {
    const release = await landing.holdRequests("**/pkg/*");
    const requests = recordRequests(page);
    await page.goto("/#contact");
    const modules = await page
      .locator("[data-island=waitlist-form]")
      .evaluate(({ dataset }) => dataset["modules"]?.split(" ") ?? []);
    expect(modules.length).toBeGreaterThan(2);
    await expect
      .poll(() => requests.map((url) => new URL(url).pathname))
      .toEqual(expect.arrayContaining(modules));
    release();
    await landing.waitForIslands("waitlist-form");
  });
});

test.describe("the form", { tag: "@once" }, () => {
  test("is hydrated before the code of toasts and tooltips is requested", async ({
    landing,
    page,
  }) => {
    const release = await landing.holdRequests("**/islands/waitlist-form-*");
    const requests = recordRequests(page);
    const form = page.waitForRequest("**/islands/waitlist-form-*");
    await page.goto("/#contact");
    await form;
    await landing.waitForIdle();
    const others = () => requests.filter((url) => /(toaster|contact-links)-/.test(url));
    expect(others()).toEqual([]);
    release();
    await landing.waitForIslands("toaster");
    expect(others()).toHaveLength(2);
  });

  test("requests the toaster when it is touched", async ({ landing, page }) => {
    const release = await landing.holdRequests("**/islands/waitlist-form-*");
    await landing.open();
    await page.waitForLoadState("networkidle");
    const toaster = page.waitForRequest("**/islands/toaster-*");
    await landing.email.focus();
    await toaster;
    release();
    await landing.waitForIslands("waitlist-form");
  });
});

test.describe("a second visit", { tag: "@once" }, () => {
  test("revalidates the page and loads no other file", async ({ landing, page }) => {
    await landing.open();
    await landing.scrollThroughIslands();
    await landing.waitForIslands();
    await page.goto("about:blank");

    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Network.enable");
    const responses: string[] = [];
    devtools.on("Network.responseReceivedExtraInfo", ({ statusCode, headers }) => {
      responses.push(`${statusCode} ${headers["content-type"] ?? ""}`.trim());
    });
    await landing.open();
    await landing.scrollThroughIslands();
    await landing.waitForIslands();
    const [first, ...others] = responses;
    expect(first, "the page").toBe("304");
    expect(
      others.filter((response) => response !== "200 application/json"),
      "all responses except the count",
    ).toEqual([]);
  });
});
