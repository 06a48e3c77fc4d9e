// A policy: a graph of its states and outcomes, the same as a list, and what is known of a state.

const policyStates = page.policy ? listOf("states", page.policy) : [];
const policyOutcomes = page.policy ? listOf("outcomes", page.policy) : [];
const outcomesOf = new Map();
const waysTo = new Map();
for (const outcome of policyOutcomes) {
  for (const [ways, number] of [[outcomesOf, outcome.source], [waysTo, outcome.target]]) {
    if (!ways.has(number)) ways.set(number, []);
    ways.get(number).push(outcome);
  }
}

// A probability in percent, with enough digits to tell it from 0 and 1.
function percentText(share) {
  for (const digits of [3, 6, 9]) {
    const text = String(Number((100 * share).toPrecision(digits)));
    if (!["0", "100"].includes(text) || share === 0 || share === 1) return `${text} %`;
  }
  return `${100 * share} %`;
}

const shareBar = (share) => el("span", { class: "share", "aria-hidden": "true" }, el("i", { style: `width:${(100 * share).toFixed(1)}%` }));
const changeText = (outcome) => texts[outcome.change || 0] || "nothing changes";
const whereText = (outcome) => (outcome.target === outcome.source ? "again" : stepText(outcome.target));

const shortWhere = (outcome) => (outcome.target === outcome.source || outcome.target >= goalNumber ? whereText(outcome) : `${outcome.target} ${stepOf(outcome.target).action}`);

function policyGraph() {
  const near = () => {
    const found = new Map();
    if (!chosen.step) return found;
    for (const { source } of waysTo.get(chosen.step) || []) found.set(source, "need");
    for (const { target } of outcomesOf.get(chosen.step) || []) found.set(target, "give");
    return found.set(chosen.step, "chosen");
  };
  let related = near();
  completeGraph(page.graph);
  const view = new GraphView(page.graph, {
    label: "The states of the policy and what may come of each step",
    numbered: true,
    labelled: true,
    between: 84,
    legend: () => (chosen.step
      ? [waysTo.has(chosen.step) ? legendLine("need", "ways to it") : null, outcomesOf.has(chosen.step) ? legendLine("give", "what may come of it") : null]
      : el("span", { class: "legend" }, "At each arrow, the probability of the outcome")),
    pick: (node) => choose({ step: node.ref }),
    mark: (node) => (chosen.filter && stepOf(node.ref) && !isStepShown(node.ref) ? "dim" : related.get(node.ref) || ""),
    markEdge: (source, target) => {
      if (!chosen.step) return "";
      if (source.ref === chosen.step) return "give";
      return target.ref === chosen.step ? "need" : "dim";
    },
  });
  view.follow = (before) => {
    related = near();
    view.mark();
    if (chosen.step && before.step !== chosen.step) view.reveal(chosen.step - 1);
  };
  return view;
}

function outcomesView() {
  const items = steps.flatMap((_, place) => [{ step: place + 1 }, ...(outcomesOf.get(place + 1) || []).map((outcome) => ({ step: place + 1, outcome }))]);
  const words = ({ step, outcome }) => (outcome ? `${changeText(outcome)} ${whereText(outcome)}` : stepSearch[step - 1]);
  const list = new VirtualList({
    label: "States and outcomes", height: 32,
    draw: (row, { step, outcome }) => {
      if (outcome) {
        row.classList.add("outcome");
        row.append(shareBar(outcome.probability), el("span", { class: "no" }, percentText(outcome.probability)),
          el("span", { class: "name" }, name(changeText(outcome))), el("span", { class: "tail" }, "→ ", name(shortWhere(outcome))));
      } else {
        row.append(el("span", { class: "no" }, String(step)), el("span", { class: "name" }, el("b", {}, name(stepOf(step).action)), " ", el("span", { class: "args" }, name(argumentsOf(stepOf(step))))),
          el("span", { class: "tail" }, `success ${percentText(policyStates[step - 1].success || 0)}`));
      }
    },
    pick: ({ step, outcome }) => choose({ step: outcome ? outcome.target : step }),
  });
  const show = () => {
    const kept = new Set(items.filter((item) => matches(words(item))).map((item) => item.step));
    list.setItems(chosen.filter ? items.filter((item) => kept.has(item.step)) : items);
    mark(false);
  };
  const mark = (scroll) => list.setActive(list.items.findIndex((item) => !item.outcome && item.step === chosen.step), scroll);
  show();
  return {
    element: list.element,
    arrange: () => list.refresh(),
    follow: (before) => (before.filter !== chosen.filter ? show() : mark(true)),
  };
}

function stateDetail(number) {
  const [step, state] = [stepOf(number), policyStates[number - 1]];
  const item = itemNamed(step.action);
  const figures = [["success from here", percentText(state.success || 0)], ["cost from here", amountText(state.cost || 0)], ["visits, in the mean", amountText(Number((state.visits || 0).toPrecision(3)))]];
  const facts = (places, sign = "") => el("ul", { class: "facts" }, places.map((place) => el("li", {}, sign, name(texts[place]))));
  return [
    ...title(`State ${number} of ${steps.length}`, name(step.action)),
    item && item.description ? el("p", { class: "muted" }, name(item.description)) : null,
    bindings(step, item),
    el("dl", { class: "figures", style: "margin-top:12px" }, figures.map(([label, value]) => el("div", { class: "figure" }, el("dt", {}, label), el("dd", { style: "font-size:15px" }, value)))),
    listOf("supposed", state).length ? el("p", { class: "callout warn" }, "Supposes ", name(state.supposed.join(", ")), ".") : null,
    heading("What may come of it"),
    el("ol", { class: "outcomes" }, (outcomesOf.get(number) || []).map((outcome) => el("li", {}, shareBar(outcome.probability), el("b", {}, percentText(outcome.probability)),
      el("span", {}, name(changeText(outcome)), el("span", { class: "from" }, "→ ", outcome.target === number ? "again" : pickStep(outcome.target)))))),
    heading("In this state"),
    listOf("facts", state).length ? facts(state.facts) : el("p", { class: "muted" }, "Nothing holds that tells states apart."),
    listOf("unknown", state).length ? [heading("Not known"), facts(state.unknown)] : null,
    ...waysInto(number),
  ].flat().filter(Boolean);
}

function waysInto(number) {
  const ways = (waysTo.get(number) || []).filter(({ source }) => source !== number);
  if (!ways.length) return [];
  return [heading("Comes of"), el("ul", {}, firstOf(ways, 40, (outcome) => el("li", {}, pickStep(outcome.source), el("span", { class: "muted" }, ` · ${percentText(outcome.probability)} `), el("span", { class: "fact muted" }, name(changeText(outcome))))))];
}

function endDetail(number) {
  const isGoal = number === goalNumber;
  return [...title(isGoal ? "Goal" : "End", isGoal ? "What the policy is for" : "Here the policy gives up"),
    isGoal ? null : el("p", { class: "lead muted" }, "The goal cannot be reached any more, or nobody has looked further."),
    ...waysInto(number)].filter(Boolean);
}

function printOutcomes() {
  return printTable(["", "Step", "Chance", "What comes of it", "Then"], steps.flatMap((_, place) => (outcomesOf.get(place + 1) || []).map((outcome, at) => [
    at ? "" : String(place + 1), at ? "" : stepText(place + 1), percentText(outcome.probability), changeText(outcome),
    outcome.target < goalNumber && outcome.target !== outcome.source ? `${outcome.target} ${stepText(outcome.target)}` : whereText(outcome)])));
}
