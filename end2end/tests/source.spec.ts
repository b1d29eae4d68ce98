/** Where visitors come from: the parameter of the page's URL survives its links, and reaches the list. */
import { expect, test, uniqueEmail } from "../support/fixtures.ts";

const SUCCESS = /^You've been added to the waitlist\./;
const INVALID = "Please enter a valid email address";
/** An address that browsers accept and the server rejects. */
const REJECTED_EMAIL = `${"a".repeat(65)}@example.com`;

test.describe("source", { tag: "@once" }, () => {
  test("every link of the page keeps the parameter, and nothing shows it", async ({
    landing,
    page,
    site,
  }) => {
    await landing.open("/?ref=campaign-7");
    for (const anchor of ["features", "demo", "contact"] as const) {
      await landing.nav.locator(`[href="#${anchor}"]`).click();
      await expect(page).toHaveURL(`/?ref=campaign-7#${anchor}`);
    }
    await landing.header.getByRole("link", { name: "Steward" }).click();
    await expect(page).toHaveURL("/?ref=campaign-7#");
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
    await landing.scrollThroughIslands();
    await landing.scrollToForm();
    const email = uniqueEmail();
    await landing.signUp(email);
    await expect(landing.toasts).toContainText("Success!");
    expect(await page.content()).not.toContain("campaign-7");
    expect(await page.title()).not.toContain("campaign-7");
    expect(await site.sourceOf(email)).toBe("campaign-7");
  });

  test("the URL no longer says that a visitor has joined, but keeps the source", async ({
    landing,
    page,
  }) => {
    for (const [before, after] of [
      ["/?joined#waitlist", "/#waitlist"],
      ["/?joined&ref=hn#waitlist", "/?ref=hn#waitlist"],
    ] as const) {
      await page.goto("about:blank");
      await landing.openForm(before);
      await expect(page).toHaveURL(after);
      await expect(landing.message).toHaveText(SUCCESS);
    }
  });
});

test.describe("source without JavaScript", { tag: "@no-javascript" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("sign-ups are stored with the source, also after an error and after a success", async ({
    landing,
    page,
    site,
  }) => {
    await landing.open("/?utm_source=HN&fbclid=1");
    await landing.nav.getByRole("link", { name: "Contact" }).click();
    await landing.signUp(REJECTED_EMAIL);
    await expect(landing.message).toHaveText(INVALID);
    await expect(page).toHaveURL("/?utm_source=HN&fbclid=1#waitlist");
    for (const email of [uniqueEmail(), uniqueEmail()]) {
      await landing.signUp(email);
      await expect(landing.message).toHaveText(SUCCESS);
      await expect(page).toHaveURL("/?joined&utm_source=hn#waitlist");
      expect(await site.sourceOf(email)).toBe("hn");
    }
  });
});
