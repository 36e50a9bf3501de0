"use strict";
// Ratios to another reference, sources under the pointer, and folded parts that open for paper.
(() => {
  const choice = document.querySelector(".choice");
  const select = document.getElementById("reference");

  const MEDIAN = 2, RATIO = 5; // places of the columns, the system's name is the first
  const medianOf = (row) => {
    const found = row && row.cells[MEDIAN].querySelector("data:not(.below):not(.above)");
    return found ? Number(found.value) : NaN;
  };
  const numberOf = (row) => row.cells[0].querySelector("b").textContent;
  const digits = (ratio) => (ratio >= 0.1 && ratio < 9.995 ? ratio.toFixed(2) : ratio.toPrecision(2));
  const isGrey = (row) => row.classList.contains("grey");

  const ratioOf = (row, reference) => {
    const ratio = reference ? medianOf(row) / medianOf(reference) : NaN;
    if (row === reference) return "reference";
    if (!(ratio > 0 && Number.isFinite(ratio)) || isGrey(row) || isGrey(reference)) return "-";
    return `\u00d7\u00a0${digits(ratio)}`;
  };

  const rowsOf = (group) => [...group.rows].filter((row) => row.cells.length > RATIO);
  const own = new Map(); // what the ratios were, with intervals and decisions

  const setAgainst = (number) => {
    const isOwn = number === select.dataset.own;
    for (const head of document.querySelectorAll(".ratio-head")) head.textContent = `Ratio of medians to ${number}`;
    for (const group of document.querySelectorAll(".compared .series")) {
      const rows = rowsOf(group);
      const isDivided = !group.classList.contains("undivided");
      const reference = isDivided && rows.find((row) => numberOf(row) === number);
      for (const row of rows) {
        const cell = row.cells[RATIO];
        if (!own.has(cell)) own.set(cell, [cell.className, [...cell.childNodes]]);
        const [look, parts] = own.get(cell);
        cell.className = isOwn ? look : "";
        cell.replaceChildren(...(isOwn ? parts : [ratioOf(row, reference)]));
      }
    }
    document.getElementById("reference-said").textContent =
      isOwn ? "" : "Worked out in this page: ratios alone, without intervals and decisions.";
  };

  if (choice) {
    select.dataset.own = [...select.options].find((one) => one.defaultSelected).value;
    select.value = select.dataset.own; // a browser may remember another
    select.addEventListener("change", () => setAgainst(select.value));
    choice.hidden = false;
  }

  // Of many systems a row does not repeat where it is from.
  const systemIds = new Map([...document.querySelectorAll("tr[id^='system-']")].map(
    (row) => [row.querySelector(".no").textContent, row.querySelector("code").textContent]));
  const name = (event) => {
    const row = event.target.closest(".series tr:not([title]):not(.series-name):not(.absent)");
    if (!row) return;
    const address = row.closest("tbody").querySelector("code").textContent;
    row.title = `${systemIds.get(numberOf(row))} ${address}`;
  };
  const box = document.getElementById("show-sources");
  document.addEventListener("mouseover", name);
  box.addEventListener("change", () => {
    if (box.checked) document.querySelectorAll(".series tr").forEach((row) => name({ target: row }));
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    const folded = target && target.closest("details:not([open])");
    if (folded) { folded.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
