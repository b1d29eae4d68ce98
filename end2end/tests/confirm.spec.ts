/** Confirming an address: the field for the code, and the page of the link. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, test as base, uniqueEmail } from "../support/fixtures.ts";
import { htmlErrors } from "../support/html.ts";
import {
  CODE,
  CONFIRM_LINK,
  confirmingSite,
  type MailServer,
  mailServer,
} from "../support/mail-server.ts";

const test = base.extend<object, { mail: MailServer }>({ mail: mailServer, site: confirmingSite });

const heading = (page: Page) => page.getByRole("heading", { level: 1 });
const codeField = (page: Page) => page.getByLabel("Got a code by email? Enter it here");
const confirmed = (page: Page) => page.getByText("Your address is confirmed").first();

// A wrong code is a 400, and a wrong link a 404.
test.use({ expectedConsole: /Failed to load resource/ });

test(
  "joining again offers the field again",
  { tag: "@everywhere" },
  async ({ landing, page, site, mail }) => {
    const email = uniqueEmail();
    expect(await site.signUp(email)).toBe(201);
    const code = await mail.receive(email, CODE);
    await landing.open();
    await landing.signUp(email);
    await expect(landing.message).toHaveText("Email already on waitlist");
    await codeField(page).fill(code);
    await page.getByRole("button", { name: "Confirm" }).click();
    await expect(confirmed(page)).toBeVisible();
  },
);

test.describe("the link's page", { tag: "@once" }, () => {
  test("confirms nobody who only opens it", async ({ page, site, mail }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    const path = await mail.receive(email, CONFIRM_LINK);
    await page.goto(path, { waitUntil: "networkidle" });
    // As a scanner may do.
    await page.setViewportSize({ width: 320, height: 200 });
    await page.evaluate(() => {
      for (const name of ["pointermove", "keydown", "wheel"]) dispatchEvent(new Event(name));
      scrollTo(0, document.body.scrollHeight);
    });
    await page.waitForTimeout(500);
    await expect(heading(page)).toHaveText("Confirm your address");
  });

  for (const [sign, act] of [
    ["a movement of the mouse", (page: Page) => page.mouse.move(200, 200, { steps: 5 })],
    ["the wheel", (page: Page) => page.mouse.wheel(0, 10)],
  ] as const) {
    test(`confirms at ${sign}`, async ({ page, site, mail }) => {
      const email = uniqueEmail();
      await site.signUp(email);
      const path = await mail.receive(email, CONFIRM_LINK);
      await page.goto(path, { waitUntil: "networkidle" });
      await act(page);
      await expect(heading(page)).toHaveText("Your address is confirmed");
    });
  }

  test("and the others are valid HTML", async ({ request, site, mail }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    const path = await mail.receive(email, CONFIRM_LINK);
    const form = { form: { email: '"><b>@x', code: "1" } };
    for (const response of [
      await request.get(path),
      await request.get("/confirm/wrong"),
      await request.post("/confirm", form),
      await request.post(path),
      await request.post("/", { form: { email } }),
    ]) {
      expect(await htmlErrors(await response.text())).toEqual([]);
    }
  });

  for (const colorScheme of ["light", "dark"] as const) {
    test(`and the field have no violation in ${colorScheme}`, async ({
      landing,
      page,
      site,
      mail,
    }) => {
      const email = uniqueEmail();
      await site.signUp(email);
      const path = await mail.receive(email, CONFIRM_LINK);
      await page.emulateMedia({ colorScheme });
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        for (const open of [
          () => page.goto(path),
          () => page.goto("/confirm/wrong"),
          async () => {
            await landing.openForm();
            // Without the mouse, which would confirm on the page of the link.
            await landing.email.fill(uniqueEmail());
            await landing.email.press("Enter");
            await codeField(page).fill("1");
            await codeField(page).press("Enter");
            await expect(page.getByText("That code is not right")).toBeVisible();
          },
        ]) {
          await open();
          const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
          expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
          const overflow = () => document.documentElement.scrollWidth - innerWidth;
          expect(await page.evaluate(overflow)).toBe(0);
        }
      }
    });
  }
});
