// Draws the figures of a report when they come into view, in light or dark as the reader has it, and in light on paper.
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Set();
  const BROADER = 1.15; // the letters of system fonts, beside those for which a legend's columns are made
  const PAPER = { wide: 960, narrow: 680 }; // pixels; the style sheet makes them fit A4 and Letter
  let onPaper = false;

  const template = () => {
    const night = dark.matches && !onPaper;
    const axis = { gridcolor: night ? "#2b323d" : "#e4e7ec", automargin: true };
    return {
      layout: {
        font: { family: "system-ui, sans-serif", size: 12, color: night ? "#d5dae2" : "#30353f" },
        hoverlabel: { bgcolor: night ? "#1b2029" : "#ffffff", font: { color: night ? "#e6e9ee" : "#1d2129" } },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: "#808792", activecolor: night ? "#e6e9ee" : "#1d2129" },
        xaxis: axis,
        yaxis: axis,
      },
    };
  };

  const draw = (plot) => {
    const { data, layout } = structuredClone(charts[plot.dataset.chart]);
    const config = {
      displaylogo: false,
      responsive: true,
      modeBarButtonsToRemove: ["autoScale2d", "select2d", "lasso2d"],
      toImageButtonOptions: { format: "svg", filename: plot.dataset.chart },
    };
    if (layout.legend?.entrywidth) {
      layout.legend.entrywidth *= BROADER;
    }
    const dragmode = layout.dragmode === "lasso" ? "zoom" : layout.dragmode;
    drawn.add(plot);
    // The page is laid out for paper only later, so that a figure cannot find out its width there.
    const size = onPaper ? { autosize: false, width: PAPER[plot.closest(".narrow") ? "narrow" : "wide"] } : { autosize: true, width: undefined };
    return Plotly.react(plot, data, { ...layout, ...size, dragmode, template: template() }, config);
  };

  const isShown = (plot) => plot.offsetParent !== null;
  for (const plot of plots) {
    plot.style.height = `${charts[plot.dataset.chart].layout.height || 450}px`;
  }
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting && !drawn.has(target)) {
          draw(target);
        }
      }
    },
    { rootMargin: "800px" },
  );
  plots.forEach((plot) => watcher.observe(plot));

  dark.addEventListener("change", () => drawn.forEach(draw));
  window.addEventListener("beforeprint", () => {
    onPaper = true;
    plots.filter(isShown).forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    onPaper = false;
    drawn.forEach(draw);
  });
})();
