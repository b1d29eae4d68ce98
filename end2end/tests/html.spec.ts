/** The HTML as sent is valid. */
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { htmlErrors } from "../support/html.ts";

for (const [name, path, email, status, text] of [
  ["the landing page", "/", undefined, 200, "Launch Your AI Agent"],
  ["the not-found page", "/nothing", undefined, 404, "404 Page Not Found"],
  ["the page after a success", "/", uniqueEmail(), 200, "You've been added to the waitlist."],
  ["the page after an error", "/", '"><b>no address', 400, "Please enter a valid email address"],
] as const) {
  test(`${name} is valid HTML`, { tag: "@once" }, async ({ request }) => {
    const response = await (email ? request.post(path, { form: { email } }) : request.get(path));
    expect(response.status()).toBe(status);
    const html = await response.text();
    expect(html).toContain(text);
    expect(await htmlErrors(html)).toEqual([]);
  });
}
