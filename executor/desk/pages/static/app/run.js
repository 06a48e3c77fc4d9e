// A run: its attempts over time, and all its events with who said what.

let runEvents;
onDocument(() => { runEvents = page.run ? listOf("events", page.run) : []; });
const eventTime = (place) => runEvents[place].time || 0;
let runningSeconds = () => 0; // how long a run is at work that a page follows

// In a simulated world, time may stand still: then events stand side by side, unless somebody wants it otherwise.
let wantsTime = null;
let inTime;
const lastSeconds = () => Math.max(runEvents.length ? eventTime(runEvents.length - 1) : 0, runningSeconds());

function timelineParts() {
  const total = lastSeconds();
  inTime = wantsTime === null ? total > runEvents.length * 0.05 : wantsTime;
  const at = (place) => (inTime ? eventTime(place) : place);
  const span = inTime ? total : runEvents.length;
  const rows = steps.map((step, place) => ({
    number: place + 1,
    bars: listOf("attempts", step).map((attempt) => {
      const end = attempt.end >= 0 ? at(attempt.end) : span;
      const tone = statusTones[attempt.status] || "";
      return { from: at(attempt.begin || 0), to: end, kind: tone, title: `${attempt.status}${attempt.skill && attempt.skill !== "main" ? `, ${attempt.skill}` : ""}` };
    }),
  }));
  const kinds = { RungTaken: "recovery", PlanChanged: "change of plan", Asked: "question", Disagreement: "disagreement" };
  const markers = runEvents.flatMap((event, place) => (kinds[event.kind] ? [{ time: at(place), text: `${kinds[event.kind]}: ${event.text}` }] : []));
  return {
    rows, span: span || 1, markers,
    describe: inTime ? (least) => timeAxis(least, "") : (least) => [Math.max(1, decimalStep(Math.max(1, least))), (each) => (each ? `event ${each}` : "")],
  };
}

function timelineLegend(markers) {
  const key = (tone, text) => el("span", { class: "legend" }, el("i", { class: `block-key ${tone}` }), text);
  const tones = new Set(steps.flatMap((step) => listOf("attempts", step).map((each) => statusTones[each.status])));
  return [
    ...(tones.has("good") ? [key("good", "seen to be done")] : []),
    ...(tones.has("warn") ? [key("warn", "not seen, or in doubt")] : []),
    ...(tones.has("bad") ? [key("bad", "failed")] : []),
    ...(markers.length ? [el("span", { class: "legend" }, legendDash(), "recovery, question, new plan")] : []),
    el("button", { class: "link", type: "button", onclick: switchScale }, inTime ? "show events side by side" : "show by time"),
  ];
}

function runTimeline() {
  const parts = timelineParts();
  const view = new BarChart({ ...parts, label: "Attempts over time" });
  view.legend.append(...timelineLegend(parts.markers));
  view.update = () => {
    const newer = timelineParts();
    Object.assign(view, newer);
    renew(view.legend, timelineLegend(newer.markers));
    view.arrange();
  };
  return view;
}

function switchScale() {
  wantsTime = !inTime;
  views.timeline = runTimeline();
  showView();
}

function eventLog() {
  const indices = [];
  const search = [];
  const read = () => {
    for (let place = indices.length; place < runEvents.length; place += 1) {
      const event = runEvents[place];
      indices.push(place);
      search.push(`${event.kind} ${event.text} ${event.who || ""}`);
    }
  };
  const list = new VirtualList({
    label: "Events", height: 34, rowClass: "row event",
    draw: (row, place) => {
      const event = runEvents[place];
      row.append(
        el("span", { class: "time" }, duration(event.time || 0)),
        el("span", { class: `dot ${event.tone || ""}`, "aria-hidden": "true" }),
        el("span", { class: "name" }, name(event.text)),
        el("span", { class: "said hide-narrow" }, name(event.who || ""))
      );
    },
    pick: (place) => choose({ event: place, step: runEvents[place].step || 0 }),
  });
  const shown = () => {
    read();
    return chosen.filter ? indices.filter((place) => matches(search[place])) : [...indices];
  };
  const show = () => {
    list.setItems(shown());
    list.setActive(list.items.indexOf(chosen.event), false);
  };
  // Who looks at the latest event goes on seeing the latest one.
  const update = () => {
    const { element } = list;
    const isAtEnd = element.scrollTop > 0 && element.scrollTop + element.clientHeight > element.scrollHeight - 20;
    list.renewItems(shown());
    list.setActive(list.items.indexOf(chosen.event), false);
    if (isAtEnd) element.scrollTop = element.scrollHeight;
  };
  show();
  return {
    element: list.element,
    arrange: () => list.refresh(),
    update,
    follow: (before) => {
      if (before.filter !== chosen.filter) show();
      if (before.event !== chosen.event) list.setActive(list.items.indexOf(chosen.event));
    },
  };
}
