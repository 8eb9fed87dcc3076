// The box in the header chooses all rows that are shown, and the button says how many are chosen.
"use strict";

const every = document.querySelector("[data-all]");
const boxes = [...document.querySelectorAll("[name=row]")];
const button = document.querySelector("#chosen button"), says = button.textContent;
const count = () => {
  const chosen = boxes.filter(box => box.checked).length;
  every.checked = chosen === boxes.length;
  every.indeterminate = chosen > 0 && !every.checked;
  button.textContent = chosen ? `${says} (${chosen})` : says;
};
every.parentElement.hidden = false;
every.onchange = () => { for (const box of boxes) box.checked = every.checked; count(); };
for (const box of boxes) box.onchange = count;
count();
