"use strict";
// Ratios to another reference, sources under the pointer, and folded parts that open for paper.
(() => {
  const choice = document.querySelector(".choice");
  const select = document.getElementById("reference");

  const medianOf = (row) => {
    const found = row && row.querySelector(".median data:not(.below):not(.above)");
    return found ? Number(found.value) : NaN;
  };
  const digits = (ratio) => (ratio >= 0.1 && ratio < 9.995 ? ratio.toFixed(2) : ratio.toPrecision(2));

  const setAgainst = (number, cells, heads, said) => {
    const isOwn = number === select.dataset.own;
    for (const head of heads) head.textContent = `Ratio of medians to ${number}`;
    for (const { row, cell, text, look, group } of cells) {
      if (isOwn) {
        cell.replaceChildren(...text.map((one) => one.cloneNode(true)));
        cell.className = look;
        continue;
      }
      const reference = [...group.rows].find((one) => one.dataset.no === number);
      const isGrey = [row, reference].some((one) => !one || one.classList.contains("grey"));
      const ratio = medianOf(row) / medianOf(reference);
      cell.className = "ratio quiet";
      cell.textContent = row === reference ? "reference"
        : isGrey || !Number.isFinite(ratio) || ratio <= 0 ? "" : `\u00d7\u00a0${digits(ratio)}`;
    }
    said.textContent = isOwn ? "" : "Worked out in this page: ratios alone, no intervals and no decisions.";
  };

  if (choice) {
    const cells = [...document.querySelectorAll("tr[data-no] > .ratio")].map((cell) => ({
      cell, row: cell.parentElement, group: cell.closest("tbody"), look: cell.className,
      text: [...cell.childNodes].map((one) => one.cloneNode(true)),
    }));
    const heads = [...document.querySelectorAll(".ratio-head")];
    const said = document.getElementById("reference-said");
    select.dataset.own = [...select.options].find((one) => one.defaultSelected).value;
    select.value = select.dataset.own; // a browser may remember another
    select.addEventListener("change", () => setAgainst(select.value, cells, heads, said));
    choice.hidden = false;
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details:not([open])");
    if (folded) { folded.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
