// Writes moments and numbers in the reader's form. Each page is whole without it.
"use strict";

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time[datetime]:not(.exact)")) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.getTime())) time.textContent = moments.format(moment);
}

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });
for (const data of document.querySelectorAll("data.number")) {
  const number = Number(data.value), size = Math.abs(number);
  // A number that would lose digits, or be a row of zeros, stays as it is written.
  const whole = String(number) === data.value || data.value.includes("e");
  if (whole && (size === 0 || (size >= 1e-6 && size <= Number.MAX_SAFE_INTEGER))) {
    data.title = data.value;
    data.textContent = numbers.format(number);
  }
}

// A Run that is not over: the page asks again, as its link would.
const again = document.querySelector("[data-again]");
if (again) setTimeout(() => location.reload(), Number(again.dataset.again) * 1000);
