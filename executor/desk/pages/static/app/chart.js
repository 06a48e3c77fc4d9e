// Bars over an axis of time: the schedule of a plan, or the attempts of a run. Only the rows that are seen are made.

const LANE = 30;
const AXIS = 34;

class BarChart {
  // `rows`: [{number, bars: [{from, to, kind, title}]}]; `span`: the time at the right end.
  constructor({ rows, span, label, describe, markers = [], minimum = 0, foot = null }) {
    this.rows = rows;
    this.span = span || 1;
    this.describe = describe;
    this.markers = markers;
    this.minimum = minimum;
    this.scale = 1;
    this.made = new Map();
    this.chart = el("div", { class: "chart", role: "listbox", "aria-label": label, tabindex: "0" });
    this.marks = el("ul", { class: "hidden", "aria-label": "Marks on the axis" });
    this.scroll = el("div", { class: "scroll" }, this.chart, this.marks, foot);
    this.element = el("div", { style: "display:contents" }, this.toolbar(), this.scroll);
    this.scroll.addEventListener("scroll", () => this.refresh(), { passive: true });
    this.chart.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.arrange()).observe(this.scroll);
  }

  toolbar() {
    const button = (sign, label, factor) =>
      el("button", { class: "tool", type: "button", "aria-label": label, onclick: () => this.zoom(factor) }, sign);
    this.legend = el("span", { class: "legends" });
    return el("div", { class: "toolbar" }, this.legend, el("span", { class: "tools" }, button("−", "Narrower", 0.7), button("+", "Wider", 1 / 0.7)));
  }

  zoom(factor) {
    this.scale = Math.min(60, Math.max(1, this.scale * factor));
    this.arrange();
  }

  arrange() {
    const room = this.scroll.clientWidth;
    if (!room) return;
    this.left = parseFloat(getComputedStyle(this.chart).getPropertyValue("--label")) || 230;
    const widest = Math.max(room, this.left + this.minimum) - this.left - 40;
    this.width = Math.max(160, widest * this.scale);
    this.chart.style.width = `${this.left + this.width + 40}px`;
    this.chart.style.height = `${AXIS + this.shown().length * LANE + 12}px`;
    this.made.clear();
    const ticks = this.ticks();
    const axis = el("div", { class: "axis", "aria-hidden": "true" }, el("div", { class: "corner" }), ticks.map(([at, text], place) =>
      el("span", { class: place ? "tick" : "tick first", style: `left:${this.x(at)}px` }, text)));
    const lines = ticks.map(([at]) => el("div", { class: "grid", "aria-hidden": "true", style: `left:${this.x(at)}px` }));
    this.marks.hidden = !this.markers.length;
    this.marks.replaceChildren(...this.markers.slice(0, 200).map((each) => el("li", {}, name(each.text))));
    // Many marks would hide the bars: then they stand on the axis alone.
    const kind = this.markers.length > 12 ? "marker brief" : "marker";
    const markers = this.markers.map((each) => el("div", { class: kind, "aria-hidden": "true", title: each.text, style: `left:${this.x(each.time || 0)}px` }));
    this.room = el("div", { role: "presentation" });
    this.chart.replaceChildren(axis, ...lines, ...markers, this.room);
    this.refresh();
  }

  x(time) {
    return this.left + 8 + (time / this.span) * this.width;
  }

  ticks() {
    const most = Math.max(3, Math.floor(this.width / 90));
    const [step, format] = this.describe(this.span / most);
    const found = [];
    for (let at = 0; at <= this.span + step / 1e6 && found.length < 400; at += step) found.push([at, format(at)]);
    return found;
  }

  shown() {
    return chosen.filter ? this.rows.filter((row) => isStepShown(row.number)) : this.rows;
  }

  refresh() {
    if (!this.room) return;
    const rows = this.shown();
    const first = Math.max(0, Math.floor((this.scroll.scrollTop - AXIS) / LANE) - 8);
    const last = Math.min(rows.length, Math.ceil((this.scroll.scrollTop + (this.scroll.clientHeight || 800)) / LANE) + 8);
    for (const [place, lane] of this.made) {
      if (place < first || place >= last) {
        lane.remove();
        this.made.delete(place);
      }
    }
    for (let place = first; place < last; place += 1) {
      if (!this.made.has(place)) this.made.set(place, this.room.appendChild(this.lane(rows[place], place, rows.length)));
    }
  }

  lane(row, place, count) {
    const step = stepOf(row.number);
    return el(
      "div",
      {
        class: "lane", role: "option", id: `lane-${row.number}`, "aria-label": plain([`${row.number} ${stepText(row.number)}`, ...row.bars.map((bar) => bar.title)].join(", ")), "aria-selected": row.number === chosen.step ? "true" : "false",
        "aria-posinset": place + 1, "aria-setsize": count, style: `top:${AXIS + place * LANE + 4}px`, onclick: () => choose({ step: row.number }),
      },
      el("div", { class: "who" }, el("span", { class: "no" }, String(row.number)), el("span", { class: "name" }, el("b", {}, name(step.action)), " ", el("span", { class: "args" }, name(argumentsOf(step))))),
      row.bars.map((bar) => {
        const left = this.x(bar.from);
        const width = Math.max(bar.kind.includes("slack") ? 0 : 3, this.x(bar.to) - left);
        return el("div", { class: `block ${bar.kind}`, title: bar.title || "", style: `left:${left}px;width:${width}px` });
      })
    );
  }

  follow(before) {
    if (before.filter !== chosen.filter) this.arrange();
    for (const lane of this.made.values()) lane.setAttribute("aria-selected", lane.id === `lane-${chosen.step}` ? "true" : "false");
    if (!chosen.step || before.step === chosen.step) return;
    const place = this.shown().findIndex((row) => row.number === chosen.step);
    if (place < 0) return;
    this.chart.setAttribute("aria-activedescendant", `lane-${chosen.step}`);
    const top = AXIS + place * LANE;
    const seen = this.scroll.clientHeight - coveredBySheet(this.scroll);
    if (top < this.scroll.scrollTop + AXIS || top + LANE > this.scroll.scrollTop + seen) {
      this.scroll.scrollTop = top - seen / 2;
    }
  }

  onKey(event) {
    const rows = this.shown();
    const at = rows.findIndex((row) => row.number === chosen.step);
    const moves = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (event.key === "+" || event.key === "=") this.zoom(1 / 0.7);
    else if (event.key === "-") this.zoom(0.7);
    else if (event.key in moves && rows.length) {
      choose({ step: rows[Math.min(rows.length - 1, Math.max(0, at + moves[event.key]))].number });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

// Steps of an axis, in seconds, that people read at a glance.
const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function timeAxis(least, origin) {
  const step = ROUND.find((each) => each >= least) || (least < 1 ? decimalStep(least) : Math.ceil(least / 86400) * 86400);
  const fine = least < 0.5 ? decimalStep(least) : step;
  return [fine, (at) => (origin ? clock(origin, at, fine) : duration(at))];
}

function decimalStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least * 0.999);
}

function duration(seconds) {
  const rounded = Math.round(seconds * 1000) / 1000;
  if (rounded < 120) return `${Number(rounded.toPrecision(6))} s`;
  const whole = Math.round(rounded);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (hours) return `${hours}:${String(minutes).padStart(2, "0")}${rest ? `:${String(rest).padStart(2, "0")}` : ""} h`;
  return rest ? `${minutes}:${String(rest).padStart(2, "0")} min` : `${minutes} min`;
}

// The time of day at the place of the plan: its offset is part of the text of its origin.
function clock(origin, seconds, fine = 60) {
  const local = new Date(`${origin.slice(0, 19)}Z`);
  const at = new Date(local.getTime() + seconds * 1000);
  const text = at.toISOString();
  const day = Math.floor(at.getTime() / 86400000) - Math.floor(local.getTime() / 86400000);
  return `${text.slice(11, fine < 60 ? 19 : 16)}${day ? ` +${day} d` : ""}`;
}

function scheduleParts() {
  const { chart } = page;
  const critical = new Set(listOf("critical", chart));
  const slack = listOf("slack", chart);
  const rows = steps.map((step, place) => {
    const from = chart.starts[place];
    const to = chart.ends[place];
    const kind = critical.has(place + 1) ? "critical" : "";
    const when = isTimed ? `${whenText(from)} to ${whenText(to)}` : `round ${from + 1}`;
    const bars = [{ from, to, kind, title: kind ? `${when}, critical` : when }];
    if (slack[place]) bars.unshift({ from: to, to: to + slack[place], kind: "slack", title: `${duration(slack[place])} of slack` });
    return { number: place + 1, bars };
  });
  const markers = listOf("markers", chart);
  const span = Math.max(...chart.ends, ...markers.map((each) => each.time || 0), ...slack.map((each, place) => chart.ends[place] + each));
  return {
    rows, span, markers,
    describe: isTimed ? (least) => timeAxis(least, chart.origin) : (least) => [decimalStep(Math.max(1, least)), (at) => (at < span ? String(at + 1) : "")],
  };
}

function schedule() {
  const { chart } = page;
  const parts = scheduleParts();
  const chain = listOf("chain", chart);
  const foot = chain.length
    ? el("div", { class: "chain-text" }, el("h2", { class: "section-title" }, "What decides the end"), el("ol", {}, chain.map(([time, what]) => el("li", {}, el("span", { class: "muted" }, `${whenText(time)}  `), name(what)))))
    : null;
  const view = new BarChart({ ...parts, foot, label: "When steps run" });
  const key = (kind, text) => el("span", { class: "legend" }, el("i", { class: `block-key ${kind}` }), text);
  view.legend.append(
    ...(isTimed ? [] : [el("span", {}, "Rounds: steps of one round may run at once")]),
    ...(listOf("critical", chart).length ? [key("critical", "critical")] : []),
    ...(listOf("slack", chart).some(Boolean) ? [key("slack", "slack")] : []),
    ...(parts.markers.length ? [el("span", { class: "legend" }, legendDash(), "deadline or known change")] : [])
  );
  return view;
}

const legendDash = () => svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, svg("path", { class: "wire threat", d: "M1 5H25" }));
const whenText = (seconds) => (page.chart.origin ? clock(page.chart.origin, seconds, 1).replace(/:00(?=$| )/, "") : duration(seconds));
