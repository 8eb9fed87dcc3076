// Writes moments and numbers in the reader's form. Each page is whole without it.
"use strict";

// As the pages write days: "5 Oct 14:05", and of another year "5 Oct 2025 14:05".
const parts = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
const near = new Intl.DateTimeFormat("en-GB", parts);
const far = new Intl.DateTimeFormat("en-GB", { ...parts, year: "numeric" });
for (const time of document.querySelectorAll("time[datetime]:not(.exact)")) {
  const moment = new Date(time.dateTime);
  const form = moment.getFullYear() === new Date().getFullYear() ? near : far;
  if (!Number.isNaN(moment.getTime())) time.textContent = form.format(moment).replace(",", "");
  time.title = time.dateTime;
}

const numbers = [0, 1, 2, 3, 4].map(decimals =>
  new Intl.NumberFormat(undefined, { minimumFractionDigits: decimals, maximumFractionDigits: 20 }));
function write(data, decimals) {
  const number = Number(data.value), size = Math.abs(number);
  // A number that would lose digits, or be a row of zeros, stays as it is written.
  const whole = String(number) === data.value || data.value.includes("e");
  if (whole && (size === 0 || (size >= 1e-6 && size <= Number.MAX_SAFE_INTEGER))) {
    data.title = data.value;
    data.textContent = numbers[decimals].format(number);
  }
}
// The cells of a table have them as plain text.
for (const place of document.querySelectorAll(".cells td.number, .cells td.number del")) {
  const text = place.firstChild;
  if (text?.nodeType !== Node.TEXT_NODE || !text.data.trim() || isNaN(text.data)) continue;
  const data = document.createElement("data");
  data.value = data.textContent = text.data.trim();
  text.replaceWith(data, text.data.slice(data.value.length));
}
for (const data of document.querySelectorAll("data:not(.worded)")) write(data, 0);

// Numbers of a column have alike many decimals, so that their points stand below each other.
function align(column) {
  const decimals = Math.max(...column.map(data => (data.value.split(".")[1] ?? "").length));
  if (decimals > 0 && decimals < numbers.length) for (const data of column) write(data, decimals);
}
align([...document.querySelectorAll(".facets data.number")]);
for (const table of document.querySelectorAll("table.cells")) {
  const columns = [];
  for (const data of table.querySelectorAll("td.number > data:not(.worded)"))
    (columns[data.parentElement.cellIndex] ??= []).push(data);
  for (const column of columns.filter(Boolean)) align(column);
}

// What opens over the page closes where somebody goes on elsewhere, and by Escape.
for (const menu of document.querySelectorAll(".menu:has(> .panel)")) {
  addEventListener("click", event => { if (!menu.contains(event.target)) menu.open = false; });
  menu.onkeydown = event => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.firstElementChild.focus();
  };
}

// How many columns of a wide table are in sight.
const view = document.querySelector(".view"), wide = document.querySelector(".scrolling:has(> .wide)");
if (view && wide) {
  const [name, ...heads] = [...wide.querySelectorAll("thead th")].slice(0, -2);
  const place = element => element.getBoundingClientRect();
  const tell = () => {
    const begin = place(name).right - 1, end = place(wide).right + 1;
    const seen = heads.map(place).filter(each => each.left >= begin && each.right <= end).length;
    view.textContent = `${seen} of ${heads.length} columns in view`;
  };
  wide.onscroll = tell;
  addEventListener("resize", tell);
  tell();
}

// A Run that is not over: the page asks again, as its link would.
const again = document.querySelector("[data-again]");
if (again) setTimeout(() => location.reload(), Number(again.dataset.again) * 1000);
