import { expect, test, vi } from "vitest";
import { captureErrors } from "./test/setup";

test("the boot script preloads the code of the first island in view that starts there", async () => {
  const errors = captureErrors();
  vi.stubGlobal("requestIdleCallback", (callback: () => void) => callback());
  vi.stubGlobal("fetch", async () => new Response());
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue(new DOMRect(0, 0, 9, 9));
  document.body.innerHTML = `
    <script type="text/plain" data-host="/no-host.js"></script>
    <div data-island="toaster" data-start="after-form" data-modules="/toaster.js"></div>
    <div data-island="waitlist-form" data-start="visible" data-modules="/form.js /react.js"></div>
    <div data-island="demo-terminal" data-start="visible" data-modules="/demo.js"></div>`;
  await import("./boot");
  // The host fails to load, which is the last thing that happens.
  await vi.waitFor(() => expect(errors.take()).toHaveLength(1));
  const preloads = document.querySelectorAll<HTMLLinkElement>("link[rel=modulepreload]");
  expect([...preloads].map((link) => link.getAttribute("href"))).toEqual(["/form.js", "/react.js"]);
});
