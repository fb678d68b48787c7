"use strict";
(() => {
  const NARROW = 640;
  const narrow = () => window.innerWidth <= NARROW;
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);

  // Names come from users: they are put in as text and never as markup.
  const show = (_handler, event, _item, value) => {
    tip.replaceChildren();
    if (value === null || value === undefined || value === "") {
      tip.classList.remove("on");
      return;
    }
    if (typeof value === "object") {
      const list = document.createElement("dl");
      for (const [name, what] of Object.entries(value)) {
        const term = document.createElement("dt");
        const said = document.createElement("dd");
        term.textContent = name;
        said.textContent = String(what);
        list.append(term, said);
      }
      tip.append(list);
    } else {
      tip.textContent = String(value);
    }
    tip.classList.add("on");
    const x = event.clientX ?? event.changedTouches?.[0]?.clientX ?? 0;
    const y = event.clientY ?? event.changedTouches?.[0]?.clientY ?? 0;
    const size = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - size.width - 6))}px`;
    tip.style.top = `${Math.max(4, y + 18 + size.height > window.innerHeight ? y - size.height - 12 : y + 18)}px`;
  };
  document.addEventListener("scroll", () => tip.classList.remove("on"), { passive: true });

  const look = () => ({
    font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    background: null,
    padding: 2,
    view: { stroke: "transparent" },
    axis: {
      labelColor: "var(--muted)", titleColor: "var(--muted)", gridColor: "var(--line)", gridOpacity: 0.55,
      domainColor: "var(--line)", tickColor: "var(--line)", labelFontSize: 11.5, titleFontSize: 12,
      titleFontWeight: "normal", labelOverlap: true,
    },
    axisY: { labelLimit: narrow() ? 122 : 240, minExtent: narrow() ? 20 : 34 },
    text: { fill: "var(--fg)" },
  });

  const draw = async () => {
    for (const frame of document.querySelectorAll("[data-chart]")) {
      const name = frame.dataset.chart;
      const id = narrow() && frame.dataset.narrow ? `narrow-${name}` : `chart-${name}`;
      const spec = JSON.parse(document.getElementById(id).textContent);
      const place = document.createElement("div");
      frame.replaceChildren(...[...frame.children].filter((c) => c.classList.contains("unseen")), place);
      if (spec.width === "container") place.style.width = "100%";
      await vegaEmbed(place, spec, {
        mode: "vega-lite", ast: true, actions: false, defaultStyle: false, renderer: "svg", config: look(),
        tooltip: show, loader: { load: () => Promise.reject(new Error("nothing is loaded")) },
      });
    }
  };

  let was = narrow();
  let drawing = draw();
  window.addEventListener("resize", () => {
    if (narrow() === was) return;
    was = narrow();
    drawing = drawing.then(draw);
  });
})();
