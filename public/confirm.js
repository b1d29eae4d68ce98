// Confirms an address at the first sign of a person. Mail scanners open links, and some of them run scripts and scroll to
// take a picture. So scrolling counts only by its cause: the wheel, a touch, a key, or the pointer on the scroll bar.
const form = document.querySelector("form[data-confirm]");
const signs = ["pointerdown", "pointermove", "touchstart", "keydown", "wheel"];
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
