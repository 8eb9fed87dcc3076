// Writes moments and numbers in the reader's form. Each page is whole without it.
"use strict";

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time[datetime]:not(.exact)")) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.getTime())) time.textContent = moments.format(moment);
}

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });
for (const data of document.querySelectorAll("data.number")) {
  const number = Number(data.value);
  // A number that would lose digits stays as it is written.
  if (Number.isFinite(number) && String(number) === data.value) {
    data.title = data.value;
    data.textContent = numbers.format(number);
  }
}

// A Run that is not over: the page asks again, as its link would.
const again = document.querySelector("[data-again]");
if (again) setTimeout(() => location.reload(), Number(again.dataset.again) * 1000);
