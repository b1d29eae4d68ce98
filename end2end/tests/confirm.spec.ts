/** Confirming an address: the step for the code, and the page of the link. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, test as base, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";
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
const codeField = (page: Page) => page.getByLabel("Code from the message");
const confirmed = (page: Page) => page.getByText("Your address is confirmed").first();

// A wrong code is a 400, and a wrong link a 404.
test.use({ expectedConsole: /Failed to load resource/ });

test(
  "joining again asks for the code again",
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

test.describe("the step for the code", { tag: "@once" }, () => {
  for (const [width, height] of [
    [320, 256],
    [360, 640],
    [375, 667],
    [640, 360],
    [844, 390],
  ] as const) {
    test(`is in view and has the focus in a window of ${width} × ${height}`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      const email = uniqueEmail();
      await landing.email.fill(email);
      await landing.email.press("Enter");
      await expect(codeField(page)).toBeFocused();
      await expect(codeField(page)).toHaveAccessibleDescription(
        new RegExp(`^Check your inbox: we sent a code to ${email}.`),
      );
      await landing.finishAnimations();
      await expect(codeField(page)).toBeInViewport({ ratio: 1 });
      const [field, toast] = [
        await boundingBox(codeField(page)),
        await boundingBox(landing.toasts),
      ];
      const isCovered = field.y < toast.y + toast.height && toast.y < field.y + field.height;
      const isBeside = field.x + field.width <= toast.x;
      expect(isCovered && !isBeside, "the toast covers the field").toBe(false);
      expect(await landing.horizontalOverflow()).toBe(0);
    });
  }

  test("continues in the island after a post before hydration", async ({ landing, page, mail }) => {
    const release = await landing.holdRequests("**/islands/boot-*");
    const email = uniqueEmail();
    await page.goto("/", { waitUntil: "commit" });
    await landing.signUp(email);
    const code = await mail.receive(email, CODE);
    release();
    await landing.scrollToForm();
    await expect(codeField(page)).toHaveCount(1);
    await codeField(page).fill(code);
    await codeField(page).press("Enter");
    await expect(landing.message).toContainText("Your address is confirmed.");
    expect(page.url()).not.toContain("confirm");
  });
});

test.describe("the link's page", { tag: "@once" }, () => {
  test("confirms only by its button, and has another way out", async ({ page, site, mail }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    const path = await mail.receive(email, CONFIRM_LINK);
    await page.goto(path, { waitUntil: "networkidle" });
    await page.mouse.move(200, 200, { steps: 5 });
    await page.mouse.wheel(0, 10);
    for (const key of ["Shift", "Escape", "x", "Tab"]) await page.keyboard.press(key);
    await expect(page.getByText(`${email[0]}…@`)).toBeVisible();
    await page.getByRole("link", { name: "I did not sign up" }).click();
    await expect(heading(page)).toHaveText("Leave the waitlist?");
    await page.goBack();
    await page.getByRole("button", { name: "Confirm" }).click();
    await expect(heading(page)).toHaveText("Your address is confirmed");
    await page.goto(path);
    await expect(heading(page)).toHaveText("Your address is confirmed");
  });

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
            await landing.email.fill(uniqueEmail());
            await landing.email.press("Enter");
            await codeField(page).fill("1");
            await codeField(page).press("Enter");
            await expect(landing.message).toContainText("That code is not right");
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
