// The box in the header chooses all rows that are shown, and the button says how many are chosen:
// for none it does nothing.
"use strict";

const every = document.querySelector("[data-all]");
const boxes = [...document.querySelectorAll("[name=row]")];
const button = document.querySelector("#chosen button"), says = button.textContent;
const count = () => {
  const chosen = boxes.filter(box => box.checked).length;
  every.checked = chosen === boxes.length;
  every.indeterminate = chosen > 0 && !every.checked;
  button.textContent = chosen ? `Edit ${chosen} ${chosen === 1 ? "row" : "rows"}` : says;
  button.disabled = !chosen;
};
every.parentElement.hidden = false;
every.onchange = () => { for (const box of boxes) box.checked = every.checked; count(); };
for (const box of boxes) box.onchange = count;
// Who comes back finds the boxes as they were left.
addEventListener("pageshow", count);
count();
