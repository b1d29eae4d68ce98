// Confirms an address at the first sign of a person. Mail scanners open links, and some of them run scripts, but they
// neither touch the page nor scroll it.
const form = document.querySelector("form[data-confirm]");
const signs = ["pointerdown", "pointermove", "touchstart", "keydown", "wheel", "scroll"];
let isSent = false;

form.addEventListener("submit", (event) => {
  // The sign may have been a click on the button.
  if (isSent) event.preventDefault();
  isSent = true;
});

for (const sign of signs) {
  addEventListener(sign, ({ isTrusted }) => isTrusted && !isSent && form.requestSubmit?.(), {
    passive: true,
  });
}
