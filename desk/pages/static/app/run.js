// A run: its attempts over time, and all its events with who said what.

const runEvents = page.run ? listOf("events", page.run) : [];
const eventTime = (place) => runEvents[place].time || 0;

// In a simulated world, time may stand still: then events stand side by side.
let inTime = runEvents.length > 0 && eventTime(runEvents.length - 1) > runEvents.length * 0.05;

function runTimeline() {
  const total = runEvents.length ? eventTime(runEvents.length - 1) : 0;
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
  const view = new BarChart({
    rows, span, markers, label: "Attempts over time",
    describe: inTime ? (least) => timeAxis(least, "") : (least) => [Math.max(1, decimalStep(Math.max(1, least))), (each) => (each ? `event ${each}` : "")],
  });
  const key = (tone, text) => el("span", { class: "legend" }, el("i", { style: `background:var(--${tone})` }), text);
  const tones = new Set(steps.flatMap((step) => listOf("attempts", step).map((each) => statusTones[each.status])));
  view.legend.append(
    ...(tones.has("good") ? [key("good", "seen to be done")] : []),
    ...(tones.has("warn") ? [key("warn", "not seen, or in doubt")] : []),
    ...(tones.has("bad") ? [key("bad", "failed")] : []),
    ...(markers.length ? [el("span", { class: "legend" }, legendDash(), "recovery, question, new plan")] : []),
    el("button", { class: "link", type: "button", onclick: switchScale }, inTime ? "show events side by side" : "show by time")
  );
  return view;
}

function switchScale() {
  inTime = !inTime;
  views.timeline = runTimeline();
  showView();
}

function eventLog() {
  const indices = runEvents.map((_, place) => place);
  const search = runEvents.map((event) => `${event.kind} ${event.text} ${event.who || ""}`);
  const list = new VirtualList({
    label: "Events", height: 34, rowClass: "row event",
    draw: (row, place) => {
      const event = runEvents[place];
      row.append(
        el("span", { class: "time" }, duration(event.time || 0)),
        el("span", { class: `dot ${event.tone || ""}` }),
        el("span", { class: "name" }, name(event.text)),
        el("span", { class: "said" }, name(event.who || ""))
      );
    },
    pick: (place) => choose({ event: place, step: runEvents[place].step || 0 }),
  });
  const show = () => {
    const shown = chosen.filter ? indices.filter((place) => matches(search[place])) : indices;
    list.setItems(shown);
    list.setActive(shown.indexOf(chosen.event), false);
  };
  show();
  return {
    element: list.element,
    arrange: () => list.refresh(),
    follow: (before) => {
      if (before.filter !== chosen.filter) show();
      if (before.event !== chosen.event) list.setActive(list.items.indexOf(chosen.event));
    },
  };
}
