/** Which files of the islands the page loads and when, and what it loads on a second visit. */
import { expect, test } from "../support/fixtures.ts";
import { recordRequests } from "../support/network.ts";

test(
  "the boot script requests every file of an island in view by itself, without the host or another file",
  { tag: "@once" },
  async ({ landing, page }) => {
    // Neither the host nor the island's own file, which imports the others, has come.
    const releases = [
      await landing.holdRequests("**/pkg/*"),
      await landing.holdRequests("**/islands/waitlist-form-*"),
    ];
    const requests = recordRequests(page);
    await page.goto("/#contact");
    const modules = await page
      .locator("[data-island=waitlist-form]")
      .evaluate(({ dataset }) => dataset["modules"]?.split(" ") ?? []);
    expect(modules.length).toBeGreaterThan(2);
    const paths = () => requests.map((url) => new URL(url).pathname);
    await expect.poll(paths).toEqual(expect.arrayContaining(modules));
    for (const release of releases) release();
    await landing.waitForIslands("waitlist-form");
    await landing.scrollThroughIslands();
    await landing.waitForIslands();
    // No file is a surprise: the page names each of them.
    const html = await (await page.request.get("/")).text();
    const scripts = paths().filter((path) => /^\/(islands|pkg)\//.test(path));
    expect(scripts.length).toBeGreaterThan(6);
    expect(scripts.filter((path) => !html.includes(path))).toEqual([]);
  },
);

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

test(
  "a second visit revalidates the page and loads no other file",
  { tag: "@once" },
  async ({ landing, page }) => {
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
  },
);
