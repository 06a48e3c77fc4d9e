// What is known of the chosen step, task, event or declaration.

const detail = el("aside", { class: "detail", "aria-label": "Details", tabindex: "-1" });

function showDetail({ isSame = false } = {}) {
  const views = views_of_domain.has(chosen.view);
  let content = null;
  if (chosen.view === "events" && chosen.event >= 0) content = eventDetail(chosen.event);
  else if (views && chosen.item && itemNamed(chosen.item)) content = itemDetail(itemNamed(chosen.item));
  else if (chosen.view === "tree" && chosen.node >= 0 && !page.tree.nodes[chosen.node].step) content = taskDetail(page.tree.nodes[chosen.node], chosen.node);
  else if (!views && page.policy && chosen.step) content = chosen.step >= goalNumber ? endDetail(chosen.step) : stateDetail(chosen.step);
  else if (!views && chosen.step === goalNumber) content = goalDetail();
  else if (!views && chosen.step) content = stepDetail(chosen.step);
  detail.classList.toggle("open", Boolean(content));
  const close = el("button", { class: "tool close", type: "button", "aria-label": "Close details", onclick: clearChoice }, icon("M5 5l8 8M13 5l-8 8"));
  if (isSame) renew(detail, [close, ...(content || overview())]);
  else {
    detail.replaceChildren(close, ...(content || overview()));
    detail.scrollTop = 0;
  }
}

const clearChoice = () => choose({ step: 0, item: "", event: -1, node: -1 });
const title = (eyebrow, ...words) => [el("p", { class: "eyebrow" }, eyebrow), el("h2", {}, words)];
const heading = (text) => el("h3", {}, text);
const pickStep = (number) => choiceLink({ step: number, node: -1 }, number >= goalNumber ? "" : `${number} `, name(stepText(number)));

// A link to another choice: an anchor, so that long names break within a sentence.
function choiceLink(changes, ...words) {
  const follow = (event) => { event.preventDefault(); choose(changes); };
  return el("a", { class: "link", href: `#${changes.view || chosen.view}/${changes.step || changes.item || ""}`, onclick: follow }, words);
}

function overview() {
  const [intro, hint] = {
    plan: ["About this plan", "Choose a step to see why it is there, and what fails without it."],
    run: ["About this run", "Choose a step to see what was tried, what was seen, and by whom."],
    policy: ["About this policy", "Choose a state to see what may come of its step, and what it is worth."],
    domain: ["About this domain", "Choose a declaration to see what it needs and gives."],
  }[page.kind] || ["About", ""];
  const parts = [el("h2", {}, intro), hint && el("p", { class: "lead muted" }, hint, " The arrow keys go from one to the next; ", el("kbd", {}, "?"), " shows all keys.")];
  const redundant = steps.flatMap((step, place) => (step.redundant ? [place + 1] : []));
  if (redundant.length) parts.push(heading("Can be left out"), el("ul", {}, firstOf(redundant, 20, (number) => el("li", {}, pickStep(number)))));
  const roots = page.tree ? page.tree.roots : [];
  if (roots.length) parts.push(heading("What is to be done"), el("ol", {}, firstOf(roots, 60, (place) => el("li", {}, page.tree.nodes[place].step ? pickStep(page.tree.nodes[place].step) : pickTask(place)))));
  const goals = page.policy ? [] : needsOf.get(goalNumber) || [];
  if (goals.length) parts.push(heading("What is reached"), el("ul", { class: "facts" }, firstOf(goals, 60, needLine)));
  const open = page.run ? listOf("questions", page.run) : [];
  if (open.length) parts.push(heading("Open questions"), el("ul", {}, open.map((each) => el("li", {}, each.step ? pickStep(each.step) : "The run", el("span", { class: "from muted" }, ": ", name(each.text))))));
  const asked = new Set(open.map((each) => each.step));
  const failed = stepNumbers.filter((number) => ["bad", "warn"].includes(toneOf(stepOf(number))) && !asked.has(number));
  if (failed.length) parts.push(heading("Failed, waiting or in doubt"), el("ul", {}, firstOf(failed, 30, (number) => el("li", {}, pickStep(number), el("span", { class: "muted" }, ` ${stepOf(number).status}`)))));
  if (page.domain && page.domain.description && page.kind !== "domain") parts.push(heading("The domain"), el("p", {}, name(page.domain.description)));
  return parts;
}

const needLine = ([provider, , fact]) => el("li", {}, name(texts[fact]), el("span", { class: "from" }, provider ? ["from ", pickStep(provider)] : "holds initially"));

function stepDetail(number) {
  const step = stepOf(number);
  const item = itemNamed(step.action);
  const parts = [...title(step.id ? `Step ${number.toLocaleString("en")} of ${steps.length.toLocaleString("en")} · ${step.id}` : `Step ${number.toLocaleString("en")} of ${steps.length.toLocaleString("en")}`, name(step.action))];
  if (item && item.description) parts.push(el("p", { class: "muted" }, name(item.description)));
  parts.push(bindings(step, item), figuresOf(number, step));
  if (step.because) parts.push(el("p", { class: "callout warn" }, "Added because: ", name(step.because)));
  if (page.run) parts.push(...attemptsOf(step));
  parts.push(...tasksAbove(number), ...why(number, step), ...withoutIt(number, step));
  const needs = needsOf.get(number) || [];
  if (needs.length) parts.push(heading("Needs"), el("ul", { class: "facts" }, needs.map(needLine)));
  const gives = (givesOf.get(number) || []);
  if (gives.length) parts.push(heading("Gives"), el("ul", { class: "facts" }, gives.map(([, consumer, fact]) => el("li", {}, name(texts[fact]), el("span", { class: "from" }, "to ", pickStep(consumer))))));
  const deltas = page.states ? listOf("deltas", page.states).filter((delta) => delta.step === number) : [];
  const isEmpty = (delta) => !["added", "removed", "numbers"].some((part) => listOf(part, delta).length);
  for (const delta of deltas.filter((each) => !each.phase || !isEmpty(each))) parts.push(heading(delta.phase ? `Changes when it ${delta.phase}` : "Changes"), changeList(delta));
  parts.push(...threatsOf(number));
  return parts;
}

function bindings(step, item) {
  const values = listOf("arguments", step);
  if (!values.length) return "";
  const names = listOf("parameters", step).length ? step.parameters : item ? listOf("parameters", item).map(([each]) => each) : [];
  return el("dl", { class: "bindings" }, values.map((value, place) => [el("dt", {}, name(names[place] || `argument ${place + 1}`)), el("dd", {}, name(value))]));
}

function figuresOf(number, step) {
  const found = [];
  if (step.cost !== undefined && step.cost !== null) found.push(["cost", amountText(step.cost)]);
  if (page.chart && page.chart.unit === "seconds") {
    found.push(["starts", whenText(page.chart.starts[number - 1])], ["ends", whenText(page.chart.ends[number - 1])]);
    const slack = listOf("slack", page.chart)[number - 1];
    if (slack) found.push(["slack", duration(slack)]);
  }
  if (step.status) found.push(["status", step.status]);
  return el("dl", { class: "figures", style: "margin-top:12px" }, found.map(([label, value]) => el("div", { class: "figure" }, el("dt", {}, label), el("dd", { style: "font-size:15px" }, value))));
}

function why(number, step) {
  const chain = chainOf(number);
  if (chain.length) {
    return [heading("Why it is there"), el("ol", { class: "chain" },
      el("li", { class: "here" }, "This step"),
      chain.slice(0, 40).map(([, consumer, fact]) => el("li", { class: consumer === goalNumber ? "end" : "" }, el("span", { class: "by" }, name(texts[fact])), pickStep(consumer))))];
  }
  if (step.keeps) return [heading("Why it is there"), el("p", {}, "It keeps the constraint ", name(step.keeps), ".")];
  if (page.tree) return [];
  return links.length && !step.redundant ? [heading("Why it is there"), el("p", {}, "Nothing needs what it gives.")] : [];
}

function withoutIt(number, step) {
  if (step.redundant) return [el("p", { class: "callout good" }, "The plan is valid without it, and without all other steps that can be left out.")];
  if (step.breaks) {
    const at = step.breaks.step;
    const text = texts[step.breaks.text || 0];
    const rest = countDependents(number);
    const what = at ? ["Without it, ", pickStep(at), " cannot be done: it lacks "] : ["Without it, the goal is missed: it lacks "];
    return [el("p", { class: "callout" }, what, el("span", { class: "fact" }, name(text)), ".", rest > 1 ? ` In all, ${plural(rest, "later step")} rest on it.` : "")];
  }
  const first = (givesOf.get(number) || [])[0];
  if (!first) return [];
  return [el("p", { class: "callout" }, "Without it, ", first[1] === goalNumber ? "the goal" : pickStep(first[1]), " lacks ", el("span", { class: "fact" }, name(texts[first[2]])), ".", countDependents(number) > 1 ? ` In all, ${plural(countDependents(number), "later step")} rest on it.` : "")];
}

function threatsOf(number) {
  const found = listOf("order").filter(([earlier, later]) => earlier === number || later === number);
  if (!found.length) return [];
  const reasons = { threat: "the later one would undo", item: "both touch" };
  return [heading("Order"), el("ul", {}, firstOf(found, 30, ([earlier, later, reason, about]) =>
    el("li", {}, earlier === number ? "before " : "after ", pickStep(earlier === number ? later : earlier),
      el("span", { class: "muted" }, ` · ${reasons[reason] || reason} `), el("span", { class: "fact muted" }, name(texts[about])))))];
}

const nodeOfStep = (() => {
  let known = null;
  return (number) => {
    known = known || new Map(page.tree.nodes.flatMap((node, place) => (node.step ? [[node.step, place]] : [])));
    return known.get(number);
  };
})();

const parentOf = (() => {
  let known = null;
  return (place) => {
    known = known || new Map(page.tree.nodes.flatMap((node, above) => (node.children || []).map((child) => [child, above])));
    return known.get(place);
  };
})();

const pickTask = (place) => choiceLink({ view: "tree", node: place, step: 0 }, name(page.tree.nodes[place].label));

function tasksAbove(number) {
  if (!page.tree) return [];
  return ancestors(nodeOfStep(number), "For the task");
}

function ancestors(start, text) {
  const lines = [];
  for (let at = parentOf(start); at !== undefined && lines.length < 12; at = parentOf(at)) {
    lines.push(el("li", {}, pickTask(at), el("span", { class: "muted" }, " by ", name(page.tree.nodes[at].method))));
  }
  return lines.length ? [heading(text), el("ol", { class: "chain" }, lines)] : [];
}

function taskDetail(node, place) {
  const parts = [...title("Task", name(node.label)), el("p", { class: "lead" }, "Done by the method ", el("b", {}, name(node.method)), ".")];
  const method = domainItems.find((item) => item.kind === "method" && item.name === node.method);
  if (method && method.description) parts.push(el("p", { class: "muted" }, name(method.description)));
  if (listOf("binding", node).length) parts.push(el("dl", { class: "bindings" }, node.binding.map(([key, value]) => [el("dt", {}, name(key)), el("dd", {}, name(value))])));
  const children = listOf("children", node);
  if (children.length) {
    parts.push(heading("Subtasks"), el("ol", {}, firstOf(children, 60, (child) => {
      const below = page.tree.nodes[child];
      return el("li", {}, below.step ? pickStep(below.step) : pickTask(child));
    })));
  } else parts.push(el("p", { class: "callout" }, "Nothing was left to do."));
  const others = listOf("alternatives", node);
  if (others.length) {
    const verdict = (other) => (other.works === true ? el("span", { class: "tone-good" }, " its precondition held too") : other.works === false ? el("span", { class: "muted" }, " its precondition failed") : "");
    parts.push(heading("Other ways"), el("ul", {}, others.map((other) => el("li", { style: "padding-bottom:4px" }, el("b", {}, name(other.method)), verdict(other),
      other.lacks ? el("div", { class: "fact muted" }, name(other.lacks)) : null))));
  }
  parts.push(...ancestors(place, "Part of"));
  return parts;
}

function goalDetail() {
  return [...title("Goal", "What the plan is for"), heading("Needs"), el("ul", { class: "facts" }, (needsOf.get(goalNumber) || []).map(needLine))];
}

function attemptsOf(step) {
  const attempts = listOf("attempts", step);
  if (!attempts.length) return [];
  return [heading("Attempts"), el("ol", {}, attempts.map((attempt, place) => {
    const begun = runEvents[attempt.begin || 0].time || 0;
    const ended = attempt.end >= 0 ? runEvents[attempt.end] : null;
    const tone = statusTones[attempt.status];
    return el("li", {}, `${place + 1}. `, el("span", { class: tone ? `tone-${tone}` : "" }, attempt.status), el("span", { class: "muted" }, ` · after ${duration(begun)}${ended ? `, took ${duration((ended.time || 0) - begun)}` : ""}${attempt.skill && attempt.skill !== "main" ? `, ${attempt.skill}` : ""}`),
      ended && listOf("details", ended).length ? el("ul", { class: "facts" }, firstOf(ended.details, 12, ([key, value]) => el("li", {}, name(key), el("span", { class: "from" }, name(value))))) : null);
  }))];
}

function eventDetail(place) {
  const event = runEvents[place];
  const parts = [...title(`${event.kind} · ${duration(event.time || 0)} · event ${place + 1} of ${runEvents.length}`, name(event.text))];
  if (event.who) parts.push(el("p", { class: "lead muted" }, "Said by ", name(event.who)));
  if (event.step) parts.push(el("p", { class: "lead" }, "About ", choiceLink({ view: "timeline", step: event.step, event: -1 }, `${event.step} `, name(stepText(event.step)))));
  const details = listOf("details", event);
  if (details.length) parts.push(heading("Details"), el("ul", { class: "facts" }, details.map(([key, value]) => el("li", {}, name(key), el("span", { class: "from" }, name(value))))));
  return parts;
}

function itemDetail(item) {
  const kind = item.kind || "action";
  const parts = [...title(kind[0].toUpperCase() + kind.slice(1), name(item.signature))];
  if (item.description) parts.push(el("p", { class: "muted" }, name(item.description)));
  if (listOf("tags", item).length) parts.push(el("div", { class: "tags" }, item.tags.map((tag) => el("span", { class: "tag" }, name(tag)))));
  if (listOf("parameters", item).length) parts.push(heading("Parameters"), el("dl", { class: "bindings" }, item.parameters.map(([key, type]) => [el("dt", {}, name(key)), el("dd", {}, name(type))])));
  for (const section of listOf("sections", item)) parts.push(heading(section.title), el("ul", { class: "facts" }, section.lines.map((line) => el("li", {}, name(line)))));
  const used = steps.flatMap((step, place) => (step.action === item.name ? [place + 1] : []));
  if (used.length && kind === "action") parts.push(heading(`In this ${page.kind}`), el("ul", {}, firstOf(used, 30, (number) => el("li", {}, choiceLink({ view: firstView, step: number }, `${number} `, name(stepText(number)))))));
  return parts;
}
