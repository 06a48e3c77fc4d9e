// How a search went: the cost of the best plan falls, the lower bound rises, and where they meet the plan is proved.
// Below, on the same axis of time, which search of the portfolio was at work when, and what it found.

const PLOT = { widest: 1080, narrow: 540, height: 290, top: 22, lane: 26, foot: 30, most: 120 };
const isKnown = (value) => value !== undefined && value !== null;
const amountText = (value) => (isKnown(value) ? Number(value).toLocaleString("en", { maximumFractionDigits: 3 }) : "–");

function searchView() {
  const points = listOf("points", page.search);
  const lanes = listOf("lanes", page.search).filter((lane) => listOf("begins", lane).length);
  const room = el("div", { class: "plot-room" });
  const readout = el("p", { class: "plot-readout" });
  const parts = [
    points.length ? [el("p", { class: "plot-lead" }, searchStory(points)), plotLegend(points, lanes), room, readout] : el("p", { class: "plot-lead" }, noHistory(lanes)),
    lanes.length ? [sectionTitle("The searches"), lanesTable(points, lanes)] : null,
    points.length ? [sectionTitle("What was found when"), searchTable(points)] : null,
    sectionTitle("Statistics"),
    el("dl", { class: "statistics" }, listOf("statistics", page.search).map(([key, value]) => el("div", {}, el("dt", {}, key), el("dd", {}, value)))),
  ];
  const element = el("div", { class: "scroll pad", role: "region", tabindex: "0", "aria-label": "How the search went" }, parts);
  let drawn = 0;
  const arrange = () => {
    const width = Math.min(PLOT.widest, room.clientWidth || PLOT.widest);
    if (!points.length || width === drawn) return;
    drawn = width;
    room.replaceChildren(new SearchPlot(points, lanes, width, readout).drawing);
  };
  new ResizeObserver(arrange).observe(element);
  return { element, arrange, follow: () => {} };
}

// Why there is no chart.
function noHistory(lanes) {
  if (page.policy) return "There is no chart: the search for a policy tells what it found at its end only.";
  if (lanes.length) return "There is no chart: no plan was found, and no bound above nothing was proved.";
  return "There is no chart: this result says nothing of what was found when.";
}

const sectionTitle = (text) => el("h2", { class: "section-title" }, text);

// The places of the points at which a plan or a bound is new, and what is new there.
function newsOf(points) {
  let cost;
  let bound;
  return points.map((point) => {
    const news = { plan: isKnown(point.cost) && point.cost !== cost, bound: isKnown(point.bound) && point.bound !== bound };
    cost = isKnown(point.cost) ? point.cost : cost;
    bound = isKnown(point.bound) ? point.bound : bound;
    return news;
  });
}

// Who found the best plan, and who the best bound, in a sentence or two.
function searchStory(points) {
  const news = newsOf(points);
  const last = (part) => points.filter((_, place) => news[place][part]).pop();
  const [plan, bound] = [last("plan"), last("bound")];
  const spanText = (point) => duration(Number((point.time || 0).toPrecision(3)));
  const by = (point) => [el("b", {}, name(point.search || "")), ` after ${spanText(point)}`];
  const measure = page.search.measure || "cost";
  const [costs, less] = { charge: ["is charged", "is charged less"], makespan: ["lasts", "ends sooner"] }[measure] || ["costs", "costs less"];
  if (!plan) return bound ? [`No plan was found. Every plan ${costs} at least `, amountText(bound.bound), ", says ", by(bound), "."] : ["Nothing was found."];
  const found = [`The plan of ${measure} `, amountText(plan.cost), " comes from ", by(plan)];
  if (!bound) return [...found, ". How far from the cheapest it is is not known."];
  if (bound.bound >= plan.cost) {
    if (bound === plan) return [...found, `, with the proof that none ${less}.`];
    const prover = bound.search === plan.search ? ["It proved, after ", spanText(bound), ","] : [by(bound), " proved"];
    return [...found, ". ", prover, ` that none ${less}.`];
  }
  return [...found, `. That none ${less} than `, amountText(bound.bound), " was proved by ", by(bound), "."];
}

function plotLegend(points, lanes) {
  const has = (part) => points.some((point) => isKnown(point[part]));
  const key = (kind, text) => el("span", { class: "legend" }, el("i", { class: `plot-key ${kind}` }), text);
  return el("div", { class: "legends plot-legends" },
    has("cost") ? key("cost", "best plan") : null,
    has("bound") ? key("bound", "lower bound") : null,
    lanes.length ? key("work", "at work") : null,
    page.search.measure === "charge" ? el("span", {}, "charge: the cost, and what the wishes are worth that are forgone") : null);
}

class SearchPlot {
  constructor(points, lanes, width, readout) {
    Object.assign(this, { points, lanes, width, readout, news: newsOf(points) });
    this.isNarrow = width < PLOT.narrow;
    this.left = this.isNarrow ? 44 : lanes.length ? Math.max(96, Math.min(168, width / 5)) : 60;
    this.right = this.isNarrow ? 52 : 104;
    this.lane = this.isNarrow ? PLOT.lane + 14 : PLOT.lane;
    this.span = Math.max(...points.map((point) => point.time || 0), ...lanes.flatMap((lane) => lane.ends), 0.001);
    const values = points.flatMap((point) => [point.cost, point.bound].filter(isKnown));
    this.high = Math.max(...values);
    const least = Math.min(...values);
    this.low = least > 0.4 * this.high && least < this.high ? Math.max(0, least - 0.2 * (this.high - least)) : Math.min(0, least);
    if (this.high === this.low) this.high += 1;
    this.foot = PLOT.height + (lanes.length ? 12 : 0) + lanes.length * this.lane;
    this.draw();
  }

  // Much happens early: the axis of time grows with the square root.
  x(time) {
    return this.left + Math.sqrt(time / this.span) * (this.width - this.left - this.right);
  }

  y(amount) {
    return PLOT.top + ((this.high - amount) / (this.high - this.low)) * (PLOT.height - PLOT.top - 14);
  }

  draw() {
    const height = this.foot + PLOT.foot;
    this.cross = svg("path", { class: "plot-cross" });
    this.drawing = svg("svg", { class: "graph plot", width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, role: "img", "aria-label": "Cost of the best plan and lower bound over time" },
      this.timeAxis(), this.amountAxis(),
      svg("path", { d: this.gap(), class: "plot-gap" }),
      svg("path", { d: this.line("bound"), class: "plot-bound" }),
      svg("path", { d: this.line("cost"), class: "plot-cost" }),
      this.cross,
      this.points.map((point, place) => (this.news[place].plan ? svg("circle", { cx: this.x(point.time || 0), cy: this.y(point.cost), r: 3.5, class: "plot-dot" }) : null)),
      this.ends(),
      this.lanes.map((lane, place) => this.drawLane(lane, PLOT.height + 12 + place * this.lane)));
    this.drawing.addEventListener("pointermove", (event) => this.look(event.offsetX));
    this.drawing.addEventListener("pointerleave", () => this.look(-1));
    this.look(-1);
  }

  timeAxis() {
    const times = [this.span];
    let last = this.x(this.span);
    for (let power = Math.ceil(Math.log10(this.span)); power >= -4; power -= 1) {
      for (const digit of [5, 2, 1]) {
        const time = digit * 10 ** power;
        if (time < 0.001 || last - this.x(time) < 62 || this.x(time) - this.left < 40) continue; // labels are whole milliseconds
        times.push(time);
        last = this.x(time);
      }
    }
    return [...times, 0].map((time) => [
      svg("path", { class: "plot-rule", d: `M${this.x(time)} ${PLOT.top - 8}V${this.foot + 4}` }),
      svg("text", { x: this.x(time), y: this.foot + 22, "text-anchor": "middle" }, duration(Number(time.toPrecision(3)))),
    ]);
  }

  amountAxis() {
    const step = decimalStep((this.high - this.low) / 5);
    const whole = [...this.points].every((point) => [point.cost, point.bound].filter(isKnown).every(Number.isInteger)) ? Math.max(1, step) : step;
    const amounts = [];
    for (let amount = Math.ceil(this.low / whole) * whole; amount <= this.high + whole / 1e6; amount += whole) amounts.push(amount);
    return amounts.map((amount) => [
      svg("path", { class: "plot-rule", d: `M${this.left} ${this.y(amount)}H${this.width - this.right}` }),
      svg("text", { x: this.left - 10, y: this.y(amount) + 4, "text-anchor": "end" }, amountText(Number(amount.toPrecision(6)))),
    ]);
  }

  line(part) {
    let path = "";
    for (const point of this.points) {
      if (!isKnown(point[part])) continue;
      path += path ? `H${this.x(point.time || 0)}V${this.y(point[part])}` : `M${this.x(point.time || 0)} ${this.y(point[part])}`;
    }
    return path && `${path}H${this.x(this.span)}`;
  }

  // What lies between the bound and the best plan.
  gap() {
    return this.points.map((point, place) => {
      if (!isKnown(point.cost) || !isKnown(point.bound)) return "";
      const next = this.points[place + 1];
      return `M${this.x(point.time || 0)} ${this.y(point.cost)}H${this.x(next ? next.time || 0 : this.span)}V${this.y(point.bound)}H${this.x(point.time || 0)}Z`;
    }).join("");
  }

  // The last values, at the ends of their lines.
  ends() {
    const { cost, bound } = this.points[this.points.length - 1];
    const x = this.x(this.span) + 8;
    const write = (kind, y, amount, text) => svg("text", { class: `plot-end ${kind}`, x, y: y + 5 }, svg("tspan", {}, amountText(amount)), this.isNarrow ? null : svg("tspan", { class: "plot-what", x, dy: 15 }, text));
    if (isKnown(cost) && cost === bound) return write("bound", this.y(cost), cost, "proved");
    const apart = this.isNarrow ? 16 : 34;
    const above = isKnown(cost) ? this.y(cost) : 0;
    const below = isKnown(bound) ? Math.max(this.y(bound), isKnown(cost) ? above + apart : 0) : 0;
    return [isKnown(cost) ? write("cost", above, cost, "best plan") : null, isKnown(bound) ? write("bound", Math.min(below, PLOT.height - 12), bound, "lower bound") : null];
  }

  drawLane(lane, top) {
    const middle = top + this.lane - 13;
    const bars = lane.begins.map((begin, place) => {
      const from = this.x(begin);
      return `M${from} ${middle - 6}h${Math.max(1, this.x(lane.ends[place]) - from).toFixed(1)}v12h${-Math.max(1, this.x(lane.ends[place]) - from).toFixed(1)}z`;
    }).join("");
    const found = this.points.map((point, place) => {
      if (point.search !== lane.search) return null;
      const x = this.x(point.time || 0);
      if (this.news[place].plan) return svg("circle", { cx: x, cy: middle, r: 4, class: "plot-dot" });
      return svg("path", { d: `M${x} ${middle - 7}v14`, class: "plot-tick" });
    });
    const label = this.isNarrow ? { x: 0, y: top + 10 } : { x: 0, y: middle + 4 };
    return svg("g", {}, svg("title", {}, lane.about || lane.search),
      svg("text", { class: "plot-lane", ...label }, isolate(fitText(lane.search, this.isNarrow ? this.width : this.left - 16, "600 12.5px"))),
      svg("path", { class: "plot-rule", d: `M${this.left} ${middle}H${this.width - this.right}` }),
      svg("path", { class: "plot-work", d: bars }),
      found);
  }

  // Tells what was known at the moment below the pointer.
  look(x) {
    const isInside = x >= this.left && x <= this.width - this.right + 8;
    const time = this.span * ((x - this.left) / (this.width - this.left - this.right)) ** 2;
    const at = isInside ? Math.min(time, this.span) : this.span;
    const point = this.points.filter((each) => (each.time || 0) <= at).pop() || {};
    this.cross.setAttribute("d", isInside ? `M${x} ${PLOT.top - 8}V${this.foot}` : "");
    const working = this.lanes.filter((lane) => lane.begins.some((begin, place) => begin <= at && at <= lane.ends[place])).map((lane) => lane.search);
    this.readout.replaceChildren(
      el("b", {}, isInside ? duration(Number(at.toPrecision(3))) : "in the end"),
      ` best plan ${amountText(point.cost)} · lower bound ${amountText(point.bound)}`,
      gapText(point),
      isInside && working.length ? [" · at work: ", name(working.join(", "))] : "");
  }
}

function gapText({ cost, bound }) {
  if (!isKnown(cost) || !isKnown(bound)) return "";
  if (bound >= cost) return " · proved";
  return cost > 0 ? ` · gap ${(100 * (1 - bound / cost)).toFixed(1)}\u00a0%` : "";
}

function lanesTable(points, lanes) {
  const news = newsOf(points);
  const countOf = (lane, part) => points.filter((point, place) => point.search === lane.search && news[place][part]).length || "–";
  const atWork = (lane) => duration(Number(lane.begins.reduce((sum, begin, place) => sum + lane.ends[place] - begin, 0).toPrecision(3)));
  return wideTable(["search", "what it does", "at work", "plans", "bounds"], lanes.map((lane) => [
    el("b", {}, name(lane.search)),
    [lane.about || "", listOf("heuristics", lane).length ? el("span", { class: "muted" }, lane.about ? " · " : "", name(lane.heuristics.join(", "))) : null],
    atWork(lane), countOf(lane, "plan"), countOf(lane, "bound")]), [2, 3, 4], "lanes-table");
}

function searchTable(points) {
  const news = newsOf(points);
  const places = points.map((_, place) => place);
  const stride = Math.ceil(points.length / PLOT.most);
  const shown = places.filter((place) => news[place].plan || place % stride === 0 || place === points.length - 1);
  const left = points.length - shown.length;
  const cell = (value, isNew) => el("span", { class: isNew ? "" : "muted" }, isNew ? el("b", {}, amountText(value)) : amountText(value));
  return [wideTable(["after", "best plan", "lower bound", "found by"], shown.map((place) => {
    const point = points[place];
    return [duration(point.time || 0), cell(point.cost, news[place].plan), cell(point.bound, news[place].bound), name(point.search || "")];
  }), [0, 1, 2]), left ? el("p", { class: "muted" }, `${plural(left, "bound")} in between left out.`) : null];
}

// A table whose numbers stand below each other; the columns `numbers` hold numbers.
function wideTable(heads, rows, numbers, more = "") {
  const kind = (place) => (numbers.includes(place) ? "number" : "");
  return el("div", { class: "table-room" }, el("table", { class: `plain-table ${more}` },
    el("thead", {}, el("tr", {}, heads.map((head, place) => el("th", { scope: "col", class: kind(place) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) => el("td", { class: kind(place) }, cell)))))));
}
