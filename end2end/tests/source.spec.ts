/** Where visitors come from: the parameter of the page's URL survives its links, and reaches the list. */
import { expect, test, uniqueEmail } from "../support/fixtures.ts";

const SUCCESS = /^You've been added to the waitlist\./;

test(
  "a sign-up is stored with the parameter of the page's URL, also after its links, and nothing shows it",
  { tag: "@everywhere" },
  async ({ javaScriptEnabled, landing, page, site }) => {
    await landing.open("/?utm_source=Letter-7&fbclid=1");
    await landing.nav.getByRole("link", { name: "Contact" }).click();
    await expect(page).toHaveURL("/?utm_source=Letter-7&fbclid=1#contact");
    if (javaScriptEnabled) await landing.scrollToForm();
    const email = uniqueEmail();
    await landing.signUp(email);
    await expect(landing.message).toHaveText(SUCCESS);
    expect(await page.content()).not.toContain("etter-7");
    expect(await site.sourceOf(email)).toBe("letter-7");
  },
);

test(
  "the URL no longer says that a visitor has joined, but keeps the source",
  { tag: "@once" },
  async ({ landing, page }) => {
    for (const [before, after] of [
      ["/?joined#waitlist", "/#waitlist"],
      ["/?joined&ref=hn#waitlist", "/?ref=hn#waitlist"],
    ] as const) {
      await page.goto("about:blank");
      await landing.openForm(before);
      await expect(page).toHaveURL(after);
      await expect(landing.message).toHaveText(SUCCESS);
    }
  },
);

test.describe("without JavaScript", { tag: "@no-javascript" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("an error after a success leaves no URL that says Success", async ({ landing, page }) => {
    const email = uniqueEmail();
    await landing.open();
    for (const title of ["Success!", "Error: Email already on waitlist"]) {
      await landing.signUp(email);
      await expect(page).toHaveTitle(`${title} — Steward`);
    }
    expect(page.url()).not.toContain("joined");
  });
});
