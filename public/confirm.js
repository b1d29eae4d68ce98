// Confirms an address at the first sign of a person. Mail scanners open links, and some of them run scripts and scroll to
// take a picture. So scrolling counts only by its cause: the wheel, a touch, a key, or the pointer on the scroll bar. And
// the pointer must move: browsers also dispatch `pointermove` when the page moves under it.
const form = document.querySelector("form[data-confirm]");
const signs = ["pointerdown", "pointermove", "touchstart", "keydown", "wheel"];
let isSent = false;

form.addEventListener("submit", (event) => {
  // The sign may have been a click on the button.
  if (isSent) event.preventDefault();
  isSent = true;
});

function isByPerson({ type, isTrusted, movementX, movementY }) {
  return isTrusted && (type !== "pointermove" || movementX !== 0 || movementY !== 0);
}

for (const sign of signs) {
  addEventListener(sign, (event) => isByPerson(event) && !isSent && form.requestSubmit?.(), {
    passive: true,
  });
}
