/** The way out: the page of the link in each message, and the message itself. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { htmlErrors } from "../support/html.ts";
import { decodeQuotedPrintable, MailServer, UNSUBSCRIBE_LINK } from "../support/mail-server.ts";
import type { Site } from "../support/site.mjs";

const MESSAGE = `# Come in

You are number **{position}** on the list of {product}. [Create your account](https://site.test/start).

- one
- two

1. first
2. second

> quoted

\`\`\`
let {x} = "<1>";
\`\`\`

Bye, \`all\`
`;

/** Signs somebody up and sends a message. Returns the path of the link, and the HTML of the message. */
async function receiveMessage(site: Site): Promise<{ path: string; html: string }> {
  const email = uniqueEmail();
  expect(await site.signUp(email)).toBe(201);
  const mail = await MailServer.start();
  await site.sendMessage(email, MESSAGE, mail.url);
  mail.stop();
  const message = mail.messages[0] ?? "";
  const path = UNSUBSCRIBE_LINK.exec(message)?.[1];
  const [, encoded = ""] = message.split(/Content-Type: text\/html[^\n]*\n[^\n]*\n\n/);
  const html = decodeQuotedPrintable(encoded.split("\n--")[0] ?? "");
  return { path: path ?? "no link", html };
}

test.describe("unsubscribe", { tag: "@once" }, () => {
  // A wrong link is a 404.
  test.use({ expectedConsole: /404/ });

  test("no request to another page has the token", async ({ page, site }) => {
    const { path } = await receiveMessage(site);
    const referrers: string[] = [];
    page.on("request", (request) => referrers.push(request.headers()["referer"] ?? ""));
    await page.goto(path);
    await page.getByRole("button").click();
    await page.getByRole("link", { name: "Go to Home Page" }).click();
    await expect(page).toHaveURL("/");
    expect(referrers.filter((referrer) => referrer.includes("/unsubscribe/"))).toEqual([]);
  });

  for (const colorScheme of ["light", "dark"] as const) {
    test(`axe finds no violation in ${colorScheme}`, async ({ page, site }) => {
      const { path, html } = await receiveMessage(site);
      await page.emulateMedia({ colorScheme });
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        for (const open of [
          () => page.goto(path),
          () => page.goto("/unsubscribe/wrong"),
          async () => {
            // The site's policy would forbid it.
            await page.goto("about:blank");
            await page.setContent(html);
          },
        ]) {
          await open();
          const { violations } = await new AxeBuilder({ page })
            .setLegacyMode()
            // A message has no landmarks: mail programs show it within their own.
            .disableRules(["region", "landmark-one-main"])
            .analyze();
          expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
          const overflow = () => document.documentElement.scrollWidth - innerWidth;
          expect(await page.evaluate(overflow)).toBe(0);
        }
      }
    });
  }

  test("the pages and the message are valid HTML, and the message loads nothing", async ({
    page,
    request,
    site,
  }) => {
    const { path, html } = await receiveMessage(site);
    const pages = [await request.get(path), await request.get("/unsubscribe/wrong")];
    expect(pages.map((response) => response.status())).toEqual([200, 404]);
    const texts = await Promise.all(pages.map((response) => response.text()));
    for (const text of [html, ...texts]) {
      expect(await htmlErrors(text)).toEqual([]);
    }
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.setContent(html);
    expect(requests).toEqual([]);
  });
});
