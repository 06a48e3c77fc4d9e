// The state after each step: what has just changed, what holds, and what never changes.

const GROUPED = 400; // facts beyond which a state is not shown in full at once

function statesView() {
  const states = page.states;
  const deltas = listOf("deltas", states);
  const range = el("input", { type: "range", min: 0, max: deltas.length, value: 0, "aria-label": "Moment of the plan" });
  const where = el("div", { class: "where", "aria-live": "polite" });
  const body = el("div", { class: "scroll pad", role: "region", tabindex: "0", "aria-label": "State" });
  const move = (by) => setMoment(Math.min(deltas.length, Math.max(0, at + by)));
  const back = el("button", { class: "tool", type: "button", "aria-label": "One moment back", onclick: () => move(-1) }, icon("M11 4 6 9l5 5"));
  const on = el("button", { class: "tool", type: "button", "aria-label": "One moment on", onclick: () => move(1) }, icon("M7 4l5 5-5 5"));
  let at = 0;
  let all = false;
  const element = el("div", { style: "display:contents" }, el("div", { class: "scrub" }, back, range, on, where), body);

  const setMoment = (moment) => {
    const step = moment ? deltas[moment - 1].step || 0 : 0;
    at = moment;
    all = false;
    if (step && step !== chosen.step) choose({ step }, { keepsMoment: true });
    else if (!step && chosen.step && !moment) choose({ step: 0 }, { keepsMoment: true });
    show();
  };
  range.addEventListener("input", () => setMoment(Number(range.value)));

  const show = () => {
    range.value = at;
    range.setAttribute("aria-valuetext", momentText(at, deltas));
    where.replaceChildren(...momentTitle(at, deltas));
    const { facts, numbers } = stateAt(at);
    const delta = at ? deltas[at - 1] : {};
    body.replaceChildren(
      ...(at ? [el("h2", { class: "section-title" }, "What changes"), changeList(delta)] : []),
      el("h2", { class: "section-title" }, at ? "What holds then" : "What holds at first"),
      stateGroups(facts, numbers, delta, all, () => { all = true; show(); }),
      constantFacts(listOf("constant", states))
    );
  };

  return {
    element,
    follow: (before, options = {}) => {
      if (options.keepsMoment) return;
      if (chosen.step !== before.step) {
        const place = deltas.map((delta) => delta.step || 0).lastIndexOf(chosen.step);
        if (place >= 0) at = place + 1;
      }
      show();
    },
    arrange: show,
  };
}

function momentText(at, deltas) {
  if (!at) return "the initial state";
  const delta = deltas[at - 1];
  if (!delta.step) return "a change at a known time";
  return `${delta.phase ? `when ${stepText(delta.step)} ${delta.phase}` : `after step ${delta.step}, ${stepText(delta.step)}`}`;
}

function momentTitle(at, deltas) {
  if (!at) return ["The initial state"];
  const delta = deltas[at - 1];
  const time = delta.time === undefined ? "" : ` · ${page.chart ? whenText(delta.time) : duration(delta.time)}`;
  if (!delta.step) return ["A change at a known time", el("span", {}, time)];
  const words = delta.phase ? [name(stepText(delta.step)), ` ${delta.phase}`] : ["After ", name(stepText(delta.step))];
  return [...words, el("span", {}, `${time} · step ${delta.step} of ${steps.length}`)];
}

function changeList(delta) {
  const items = [
    ...listOf("added", delta).map((fact) => change("gained", "+", texts[fact])),
    ...listOf("removed", delta).map((fact) => change("lost", "−", texts[fact])),
    ...listOf("numbers", delta).map(([fluent, before, after]) => change("moved", "±", `${texts[fluent]}  ${before} → ${after}`)),
  ];
  return el("ul", { class: "facts" }, items.length ? items : el("li", { class: "muted" }, "nothing"));
}

const change = (kind, sign, text) => el("li", { class: kind }, el("span", { class: "sign", "aria-hidden": "true" }, sign), el("span", { class: "hidden" }, { lost: "no longer ", gained: "now ", moved: "changed " }[kind]), name(text));

function stateAt(moment) {
  const states = page.states;
  const facts = new Set(listOf("initial", states));
  const numbers = new Map(listOf("numbers", states));
  for (const delta of listOf("deltas", states).slice(0, moment)) {
    for (const fact of listOf("removed", delta)) facts.delete(fact);
    for (const fact of listOf("added", delta)) facts.add(fact);
    for (const [fluent, , after] of listOf("numbers", delta)) numbers.set(fluent, after);
  }
  return { facts: [...facts], numbers };
}

function stateGroups(facts, numbers, delta, all, showAll) {
  const added = new Set(listOf("added", delta));
  const moved = new Set(listOf("numbers", delta).map(([fluent]) => fluent));
  const groups = new Map();
  const put = (text, isNew, line) => {
    if (chosen.filter && !matches(line)) return;
    const key = text.split("(")[0];
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(el("li", { class: isNew ? "gained" : "" }, isNew ? unseen("new: ") : "", name(line)));
  };
  const shown = all ? facts : facts.slice(0, GROUPED);
  for (const fact of shown) put(texts[fact], added.has(fact), texts[fact]);
  for (const [fluent, value] of numbers) put(texts[fluent], moved.has(fluent), `${texts[fluent]} = ${value}`);
  const made = [...groups].sort(([one], [other]) => one.localeCompare(other)).map(([key, items]) =>
    el("section", { class: "group" }, el("h3", {}, name(key)), el("ul", { class: "facts" }, items)));
  const more = facts.length > shown.length ? el("button", { class: "button", type: "button", onclick: showAll }, `Show all ${facts.length.toLocaleString("en")} facts`) : null;
  return el("div", {}, el("div", { class: "columns" }, made.length ? made : el("p", { class: "muted" }, "Nothing that changes holds.")), more);
}

function constantFacts(constant) {
  if (!constant.length) return "";
  const list = el("ul", { class: "facts", style: "columns:22em auto;margin-top:8px" });
  const details = el("details", {}, el("summary", {}, `${plural(constant.length, "fact")} that never change${constant.length === 1 ? "s" : ""}`), list);
  details.addEventListener("toggle", () => {
    if (details.open && !list.childElementCount) list.append(...constant.slice(0, 2000).map((fact) => el("li", {}, name(texts[fact]))));
  });
  return details;
}
