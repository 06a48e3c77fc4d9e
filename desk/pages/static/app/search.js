// How a search went: the cost of the best plan falls, the lower bound rises, and where they meet the plan is proved.

const PLOT = { widest: 760, height: 280, left: 52, right: 24, top: 18, bottom: 40 };

function searchView() {
  const points = listOf("points", page.search);
  const known = listOf("statistics", page.search);
  const facts = el("dl", { class: "bindings", style: "margin-top:8px" }, known.map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)]));
  const plot = el("div");
  const parts = [
    points.length ? [el("h2", { class: "section-title" }, "What was known when"), plot, searchTable(points)] : null,
    el("h2", { class: "section-title", style: "margin-top:26px" }, "Statistics"), facts,
  ];
  const element = el("div", { class: "scroll pad", role: "region", tabindex: "0", "aria-label": "How the search went" }, parts);
  const arrange = () => points.length && plot.replaceChildren(searchPlot(points, Math.min(PLOT.widest, plot.clientWidth || PLOT.widest)));
  new ResizeObserver(arrange).observe(element);
  return { element, arrange, follow: () => {} };
}

function searchPlot(points, width) {
  const { height, left, right, top, bottom } = PLOT;
  const value = (part) => points.map((point) => point[part]).filter((each) => each !== undefined && each !== null);
  const values = [...value("cost"), ...value("bound")];
  const low = Math.min(...values, 0);
  const high = Math.max(...values, low + 1);
  const span = Math.max(...points.map((point) => point.time || 0), 0.001) * 1.04;
  // Much happens early: the axis of time grows with the square root.
  const x = (time) => left + Math.sqrt(time / span) * (width - left - right);
  const y = (amount) => height - bottom - ((amount - low) / (high - low)) * (height - top - bottom);
  const line = (part) => {
    let path = "";
    for (const point of points) {
      const at = point[part];
      if (at === undefined || at === null) continue;
      path += path ? `H${x(point.time || 0)}V${y(at)}` : `M${x(point.time || 0)} ${y(at)}`;
    }
    return path ? `${path}H${x(span)}` : "";
  };
  const step = decimalStep((high - low) / 5);
  const amounts = [];
  for (let amount = Math.ceil(low / step) * step; amount <= high + step / 1e6; amount += step) amounts.push(amount);
  const shares = width < 500 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  const rule = (amount) => [
    svg("path", { d: `M${left} ${y(amount)}H${width - right}`, class: "plot-rule" }),
    svg("text", { x: left - 10, y: y(amount) + 4, "text-anchor": "end" }, String(Number(amount.toPrecision(4)))),
  ];
  return svg("svg", { class: "graph plot", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Cost of the best plan and lower bound over time" },
    amounts.map(rule),
    shares.map((share) => svg("text", { x: x(share * share * span), y: height - 14, "text-anchor": "middle" }, duration(Number((share * share * span).toPrecision(2))))),
    svg("path", { d: line("bound"), class: "plot-bound" }),
    svg("path", { d: line("cost"), class: "plot-cost" }),
    points.map((point) => (point.cost === undefined || point.cost === null ? null : svg("circle", { cx: x(point.time || 0), cy: y(point.cost), r: 3.5, class: "plot-dot" }, svg("title", {}, `${point.cost} after ${duration(point.time || 0)}`)))));
}

function searchTable(points) {
  const shown = points.length > 200 ? points.slice(-200) : points;
  const cell = (value) => (value === undefined || value === null ? "–" : String(value));
  const legend = el("p", { class: "toolbar", style: "padding-left:0" },
    el("span", { class: "legend" }, el("i", { style: "background:var(--accent)" }), "best plan"),
    el("span", { class: "legend" }, el("i", { style: "background:var(--good)" }), "lower bound"));
  return [legend, el("table", { class: "plain-table" },
    el("thead", {}, el("tr", {}, ["after", "best plan", "lower bound", "search"].map((each) => el("th", { scope: "col" }, each)))),
    el("tbody", {}, shown.map((point) => el("tr", {}, [duration(point.time || 0), cell(point.cost), cell(point.bound), point.search || ""].map((each) => el("td", {}, name(each)))))))];
}
