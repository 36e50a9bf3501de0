"use strict";
// Folded parts open for a link that leads into them and for paper; wide tables say that they scroll.
(() => {
  const open = (target) => {
    let found = false;
    for (let one = target; one; one = one.parentElement) {
      if (one.tagName === "DETAILS" && !one.open) { one.open = true; found = true; }
    }
    return found;
  };
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && open(target)) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  // A link to where the page already is changes no hash.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) reveal();
  });
  reveal();

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not(.aside)")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });

  const wide = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const box = target.closest(".scroll");
      box.classList.toggle("is-wide", box.scrollWidth > box.clientWidth + 1);
    }
  });
  for (const box of document.querySelectorAll(".scroll")) {
    wide.observe(box);
    if (box.firstElementChild) wide.observe(box.firstElementChild);
  }
})();
