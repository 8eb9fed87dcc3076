// The box in the header chooses all rows that are shown but those that are gone, and the form says
// how many are chosen: for none its button does nothing.
"use strict";

const every = document.querySelector("[data-all]");
if (every) {
  const boxes = [...document.querySelectorAll("[name=row]")];
  const living = boxes.filter(box => !box.closest(".gone"));
  const button = document.querySelector("#chosen button"), says = button.textContent;
  const told = document.querySelector("[data-chosen]");
  const count = () => {
    const chosen = boxes.filter(box => box.checked).length;
    every.checked = living.length > 0 && living.every(box => box.checked);
    every.indeterminate = chosen > 0 && !every.checked;
    button.textContent = chosen ? `Edit ${chosen} ${chosen === 1 ? "row" : "rows"}` : says;
    button.disabled = !chosen;
    told.textContent = `${chosen} ${chosen === 1 ? "row" : "rows"} chosen`;
  };
  every.parentElement.hidden = !living.length;
  every.onchange = () => { for (const box of living) box.checked = every.checked; count(); };
  for (const box of boxes) box.onchange = count;
  // Who comes back finds the boxes as they were left.
  addEventListener("pageshow", count);
  count();
}

// The column that is to be edited is marked.
const field = document.querySelector("select[name=field]");
if (field) {
  const mark = () => {
    for (const column of document.querySelectorAll("col[data-field]"))
      column.classList.toggle("chosen", column.dataset.field === field.value);
  };
  field.onchange = mark;
  addEventListener("pageshow", mark);
}
