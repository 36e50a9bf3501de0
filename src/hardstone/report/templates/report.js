"use strict";
// Each chart is drawn when it comes into view; without scripts its figures stand there in words.
(() => {
  const config = JSON.parse(document.getElementById("chart-config").textContent);

  const rowsOf = (lines) =>
    lines.flatMap(({ keys, fields, points }) =>
      points.map((point) => {
        const row = { ...keys };
        fields.forEach((field, at) => { row[field] = point[at]; });
        return row;
      }));

  const refuse = () => Promise.reject(new Error("nothing is loaded"));
  const options = {
    mode: "vega-lite", actions: false, ast: true, renderer: "svg", config, defaultStyle: false,
    loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
    tooltip: { disableDefaultStyle: true }, logLevel: 1,
  };

  const fit = (svg) => {
    const box = svg.getAttribute("viewBox");
    if (!box) svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    svg.setAttribute("aria-hidden", "true");
  };

  const enliven = async (figure) => {
    const source = figure.querySelector("script[data-chart]");
    const plot = figure.querySelector(".plot");
    const { spec, lines } = JSON.parse(source.textContent);
    if (figure.matches(".fitted")) { // as wide as the window has room
      spec.width = plot.clientWidth;
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    const place = document.createElement("div");
    try {
      const result = await window.vegaEmbed(place, { ...spec, data: { values: rowsOf(lines) } }, options);
      fit(place.querySelector("svg"));
      plot.replaceChildren(place);
      plot.classList.add("live");
      plot.title = "Drag to pan, Shift and mouse wheel to zoom, double-click to reset";
    } catch {
      place.remove(); // the picture, or the words, stay
    }
  };

  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      watch.unobserve(entry.target);
      enliven(entry.target);
    }
  }, { rootMargin: "2000px" });
  document.querySelectorAll("figure.chart:has(script[data-chart])").forEach((one) => watch.observe(one));
})();
