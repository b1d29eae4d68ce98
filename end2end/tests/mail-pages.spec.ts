/** The pages of the links in messages, and a message: they are valid HTML, and axe-core finds no violation. */
import { violations } from "../support/axe.ts";
import { expect, uniqueEmail } from "../support/fixtures.ts";
import { htmlErrors } from "../support/html.ts";
import { CODE, CONFIRM_LINK, confirmingTest as test, HTML } from "../support/mail-server.ts";
import { recordRequests } from "../support/network.ts";

const MESSAGE = `# Come in

You are number **{position}** on the list of {product}. [Create your account](https://site.test/start).

- one
- two

1. first

> quoted

\`\`\`
let {x} = "<1>";
\`\`\`

Bye, \`all\`
`;

// A wrong code is a 400, and a wrong link a 404.
test.use({ expectedConsole: /Failed to load resource/ });

for (const colorScheme of ["light", "dark"] as const) {
  test(
    `the pages of messages and a message are valid and have no violation in ${colorScheme}`,
    { tag: "@once" },
    async ({ landing, mail, page, request, site }) => {
      const widths = [320, 1280];
      const [email, reader] = [uniqueEmail(), uniqueEmail()];
      for (const person of [email, reader]) expect(await site.signUp(person)).toBe(201);
      const confirm = await mail.receive(email, CONFIRM_LINK);
      await page.emulateMedia({ colorScheme });
      await page.goto(confirm);
      const leave = page.getByRole("link", { name: "I did not sign up" });
      const unsubscribe = (await leave.getAttribute("href")) ?? "";
      for (const path of [confirm, "/confirm/wrong", unsubscribe, "/unsubscribe/wrong"]) {
        const response = await page.goto(path);
        expect(response?.status(), path).toBe(path.endsWith("wrong") ? 404 : 200);
        expect(await htmlErrors((await response?.text()) ?? "")).toEqual([]);
        expect(await violations(page, { widths }), path).toEqual([]);
      }

      const confirmed = await request.post(await mail.receive(reader, CONFIRM_LINK));
      for (const response of [
        confirmed,
        await request.post("/confirm", { form: { email: '"><b>@x', code: "1" } }),
        await request.post("/", { form: { email } }),
      ]) {
        expect(await htmlErrors(await response.text()), response.url()).toEqual([]);
      }

      await landing.openForm();
      const inviter = uniqueEmail();
      await landing.signUp(inviter);
      const code = page.getByLabel("Code from the message");
      await code.fill("000000");
      await code.press("Enter");
      await expect(landing.message).toContainText("That code is wrong");
      expect(await violations(page, { widths }), "a wrong code").toEqual([]);
      await code.fill(await mail.receive(inviter, CODE));
      await code.press("Enter");
      await page.getByRole("button", { name: "Copy link" }).focus();
      expect(await violations(page, { widths }), "an invitation").toEqual([]);

      await site.sendMessage(reader, MESSAGE, mail.url);
      const html = await mail.receive(reader, HTML);
      expect(html).toContain("Come in");
      expect(await htmlErrors(html)).toEqual([]);
      // The site's policy would forbid the inline style.
      await page.goto("about:blank");
      const requests = recordRequests(page);
      await page.setContent(html);
      expect(requests, "a message loads nothing").toEqual([]);
      // A message has no landmarks: mail programs show it within their own.
      const disabledRules = ["region", "landmark-one-main"];
      expect(await violations(page, { widths, disabledRules }), "a message").toEqual([]);
    },
  );
}
