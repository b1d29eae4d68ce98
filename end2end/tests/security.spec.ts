/** What programs and other sites may not do to the page, and what its policy keeps scripts from. */
import type { Page } from "@playwright/test";
import { expect, freshAddress, Site, test } from "../fixtures.ts";

const trap = (page: Page) => page.locator("input[name=topic]");

/** As a program does that looks for every field. */
const fillTrap = (page: Page) =>
  trap(page).evaluate((field: HTMLInputElement) => {
    field.value = "cheap pills";
  });

test("a program that fills in every field is told that it has joined, and is not listed", async ({
  landing,
  page,
  site,
}) => {
  await landing.openForm();
  await fillTrap(page);
  const email = freshAddress();
  await landing.join(email);
  await expect(landing.toasts).toContainText("You've been added to the waitlist.");
  await expect(landing.email).toHaveValue("");
  expect(await site.join(email), "not listed before").toBe(201);
});

test(
  "so it is where the form posts itself",
  { tag: "@no-javascript" },
  async ({ landing, page, site }) => {
    await landing.open();
    const email = freshAddress();
    const form = { email, topic: "cheap pills" };
    const answer = await page.request.post("/", { form });
    expect(answer.url()).toContain("/?joined");
    expect(await answer.text()).toContain("You've been added to the waitlist.");
    expect(await site.join(email), "not listed before").toBe(201);
  },
);

test(
  "people never meet that field, by eye, by keyboard or by screen reader",
  { tag: "@everybody" },
  async ({ landing, page }) => {
    await landing.open();
    await expect(trap(page)).toHaveCount(1);
    await expect(trap(page)).toBeHidden();
    await expect(landing.form.getByRole("textbox")).toHaveCount(1);
    expect(await landing.form.ariaSnapshot()).not.toContain("Leave this empty");
    await landing.email.focus();
    await page.keyboard.press("Tab");
    await expect(landing.submit).toBeFocused();
  },
);

test.describe("too many tries", () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("are told as any other failure, and what was typed stays", async ({ landing, page }) => {
    const site = await Site.start("--signups-per-minute", "1");
    await page.goto(site.origin);
    await landing.section("contact").scrollIntoViewIfNeeded();
    await landing.ready("waitlist-form");
    await landing.ready("toaster");
    await landing.join(freshAddress());
    await expect(landing.toasts).toContainText("Success!");
    const second = freshAddress();
    await landing.join(second);
    await expect(landing.toasts).toHaveText("Error Failed to add to waitlist. Please try again.");
    await expect(landing.email).toHaveValue(second);
    expect(await site.count()).toBe(1);
    await site.stop();
  });
});

test.describe("another site", () => {
  test.use({ expectedConsole: /Failed to load|frame-ancestors|Refused to|violates/ });

  test("can not sign its visitors up", async ({ page, site }) => {
    const email = freshAddress();
    await page.route("http://evil.test/", (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<form method="post" action="${site.origin}/"><input name="email" value="${email}">
          <button>Win</button></form>`,
      }),
    );
    await page.goto("http://evil.test/");
    const answer = page.waitForResponse(`${site.origin}/`);
    await page.getByRole("button").click();
    expect((await answer).status()).toBe(403);
    expect(await site.join(email), "not listed before").toBe(201);
  });

  test("can not show the page in a frame", async ({ page, site }) => {
    await page.route("http://evil.test/", (route) =>
      route.fulfill({ contentType: "text/html", body: `<iframe src="${site.origin}/"></iframe>` }),
    );
    await page.goto("http://evil.test/");
    await expect(page.frameLocator("iframe").getByRole("heading", { level: 1 })).toHaveCount(0);
  });
});

test.describe("a script that got into the page", () => {
  test.use({ expectedConsole: /Content Security Policy|Trusted|violates|refused/i });

  test("runs nothing of its own and reaches nobody", async ({ landing, page }) => {
    await landing.openForm();
    const got = await page.evaluate(async () => {
      const outcome = (attempt: () => unknown) => {
        try {
          return String(attempt());
        } catch (error) {
          return (error as Error).name;
        }
      };
      const script = document.createElement("script");
      script.append("window.ran = true");
      document.body.append(script);
      return {
        inline: "ran" in window,
        markup: outcome(() => (document.body.lastElementChild!.innerHTML = "<b>x</b>")),
        // Later, because what the test's own call runs is let through.
        evaluated: await new Promise<string>((resolve) => {
          setTimeout(() => resolve(outcome(() => new Function("return 1")())));
        }),
        elsewhere: await fetch("https://evil.test/").then(String, (error: Error) => error.name),
        base: outcome(() => {
          const base = Object.assign(document.createElement("base"), {
            href: "https://evil.test/",
          });
          document.head.prepend(base);
          return document.baseURI.startsWith("https://evil.test/");
        }),
      };
    });
    expect(got).toEqual({
      inline: false,
      markup: "TypeError",
      evaluated: "EvalError",
      elsewhere: "TypeError",
      base: "false",
    });
  });
});

test("an address is typed in any script, and is one in each of its spellings", async ({
  landing,
  site,
}) => {
  await landing.openForm();
  const name = freshAddress().split("@")[0];
  await landing.join(`${name}@bücher.example`);
  await expect(landing.toasts).toContainText("Success!");
  expect(await site.join(`${name}@BÜCHER.example`)).toBe(409);
  expect(await site.join(`${name}@xn--bcher-kva.example`)).toBe(409);
});
