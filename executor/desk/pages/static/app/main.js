// The frame: head, tabs, panes, keys, themes. Views are made when they are first shown.

const views_of_domain = new Set(["declarations", "provides", "types", "findings"]);
const views = {};
const makers = {
  graph: () => (page.policy ? policyGraph() : stepGraph()),
  outcomes: outcomesView,
  schedule,
  states: statesView,
  tree: () => new TreeView(),
  timeline: runTimeline,
  events: eventLog,
  candidates: candidatesView,
  answers: answersView,
  search: searchView,
  declarations,
  provides: () => providerGraph(page.domain),
  types: typesView,
  findings: findingsView,
};

// What a plan is about comes first: its decomposition, its times, or else its order.
const isTimed = Boolean(page.chart && page.chart.unit === "seconds");
const findTabs = () => [
  ["steps", page.policy ? "States" : "Steps", steps.length > 0, "only-narrow"],
  ["answers", "Why not", Boolean(page.answers)],
  ["candidates", "Candidates", Boolean(page.candidates)],
  ["timeline", "Timeline", Boolean(page.run)],
  ["events", "Events", Boolean(page.run)],
  ["tree", "Decomposition", Boolean(page.tree)],
  ["schedule", "Schedule", isTimed],
  ["graph", "Graph", Boolean(page.graph)],
  ["outcomes", "Outcomes", Boolean(page.policy)],
  ["schedule", "Schedule", Boolean(page.chart) && !isTimed],
  ["states", "States", Boolean(page.states)],
  ["search", "Search", Boolean(page.search && (listOf("points", page.search).length || page.kind === "plan" || page.kind === "policy"))],
  ["declarations", page.kind === "domain" ? "Declarations" : "Domain", domainItems.length > 0],
  ["provides", "Provides", Boolean(page.domain && page.domain.graph)],
  ["types", "Types", Boolean(page.domain && listOf("types", page.domain).length)],
  ["findings", "Findings", Boolean(page.domain && listOf("findings", page.domain).length)],
].filter(([, , isThere]) => isThere);
let tabs = findTabs();
const firstView = (tabs.find(([id]) => id !== "steps") || ["steps"])[0];

// Costs stand in the list where they tell steps apart.
let showsCosts, stepNumbers;
onDocument(() => {
  showsCosts = new Set(steps.map((step) => step.cost)).size > 1;
  stepNumbers = steps.map((_, place) => place + 1);
});
const stepList = new VirtualList({
  label: page.policy ? "States" : "Steps", height: 32,
  draw: (row, number) => {
    const step = stepOf(number);
    if (step.redundant) row.classList.add("is-redundant");
    row.append(
      el("span", { class: "no" }, String(number)),
      page.run ? el("span", { class: `dot ${toneOf(step)}` }, step.status === "succeeded" ? unseen("succeeded") : "") : "",
      el("span", { class: "name" }, el("b", {}, name(step.action)), " ", el("span", { class: "args" }, name(argumentsOf(step))), step.redundant ? unseen(", can be left out") : ""),
      el("span", { class: "tail" }, page.run ? (step.status === "succeeded" ? "" : step.status || "pending") : showsCosts && isKnown(step.cost) ? amountText(step.cost) : "")
    );
    row.title = plain(stepText(number));
  },
  pick: (number) => choose({ step: number, node: -1 }),
});
const itemList = new VirtualList({
  label: "Declarations", height: 32,
  draw: (row, item) => row.append(el("span", { class: "name" }, name(item.name)), el("span", { class: "tail" }, item.kind || "action")),
  pick: (item) => choose({ item: item.name }),
});

const search = el("input", { type: "search", placeholder: "Filter", "aria-label": "Filter", autocomplete: "off", spellcheck: "false" });
const count = el("div", { class: "filter-count", role: "status" });
const costHead = el("div", { class: "filter-count cost-head" }, "cost");
const side = el("aside", { class: "side", "aria-label": "List" }, el("div", { class: "filter" }, search, el("kbd", { "aria-hidden": "true" }, "/"), el("div", { class: "filter-foot" }, count, costHead)), stepList.element, itemList.element);
const stage = el("div", { class: "stage", id: "stage", role: "tabpanel", tabindex: "-1" });
const panes = el("main", { class: "panes" }, side, stage, detail);

function tabButtons() {
  const made = tabs.map(([id, label, , kind = ""]) => {
    const number = id === "findings" ? el("span", { class: "count" }, String(page.domain.findings.length)) : "";
    return el("button", { role: "tab", type: "button", id: `tab-${id}`, class: kind, "aria-controls": "stage", onclick: () => choose({ view: id }) }, label, number);
  });
  const firstOfDomain = tabs.findIndex(([id]) => views_of_domain.has(id));
  if (firstOfDomain > 0) made.splice(firstOfDomain, 0, el("span", { class: "divide", role: "presentation" }));
  return made;
}
const tabBar = el("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, tabButtons());

const themes = { auto: "the system's colours", light: "light", dark: "dark" };
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";

function setTheme(wanted) {
  theme = wanted;
  document.documentElement.dataset.theme = wanted === "auto" ? (prefersDark.matches ? "dark" : "light") : wanted;
  document.documentElement.style.colorScheme = document.documentElement.dataset.theme;
  themeButton.setAttribute("aria-label", `Colours: ${themes[wanted]}`);
  themeButton.title = `Colours: ${themes[wanted]} (t)`;
  try { localStorage.setItem("forethought-theme", wanted); } catch { /* a page from a file may have no storage */ }
}

const themeButton = el("button", { class: "tool", type: "button", onclick: switchTheme }, icon("M9 2.5a6.5 6.5 0 1 0 0 13zM9 2.5a6.5 6.5 0 0 1 0 13"));
function switchTheme() {
  const isDark = document.documentElement.dataset.theme === "dark";
  setTheme(theme === "auto" ? (isDark ? "light" : "dark") : "auto");
}
prefersDark.addEventListener("change", () => theme === "auto" && setTheme("auto"));

const helpKeys = [
  ["↑ ↓", "the step before, the next step"],
  ["← →", "a step that this one needs, a step that needs it"],
  ["Enter", "to the details; Escape closes them"],
  ["/", "filter what is shown"],
  ["1 – 9", "the views"],
  ["+ − 0", "larger, smaller, as it was"],
  ["← → Space", "in a decomposition: fold and unfold"],
  ["t", "light or dark"],
  ["?", "this help"],
];
const help = el("dialog", { "aria-labelledby": "help-title" },
  el("h2", { id: "help-title" }, "Keys"),
  el("dl", {}, helpKeys.map(([keys, text]) => [el("dt", {}, keys.split(" ").map((key) => (key === "–" ? " – " : [el("kbd", {}, key), " "]))), el("dd", {}, text)])),
  el("form", { method: "dialog" }, el("button", { class: "button" }, "Close")));

const figureList = (figures) => el("dl", { class: "figures" }, figures.map((figure) => el("div", { class: "figure" }, el("dt", {}, figure.label), el("dd", { class: figure.tone ? `tone-${figure.tone}` : "" }, figure.value))));

function head() {
  const notes = listOf("notes");
  const isShort = notes.length <= 2 && notes.join("").length < 220;
  const list = (from, to) => el("ul", {}, notes.slice(from, to).map((note) => el("li", {}, name(note))));
  return el("header", { class: "head" },
    el("div", { class: "head-title" }, el("h1", { class: page.title.length > 44 ? "long" : "" }, name(page.title)), el("p", { class: "head-sub" }, name(page.subtitle || ""), " ", liveMark())),
    figureList(listOf("figures")),
    notes.length ? el("div", { class: "notes" }, list(0, isShort ? 2 : 1), isShort || notes.length === 1 ? null : el("details", {}, el("summary", {}, plural(notes.length - 1, "more note")), list(1))) : null);
}

// Shows a newer document of the same run; what is chosen, folded, scrolled to and in focus stays.
function showDocument(found) {
  readDocument(found);
  const isNew = findTabs().map(([id]) => id).join() !== tabs.map(([id]) => id).join();
  tabs = findTabs();
  if (isNew) {
    tabBar.replaceChildren(...tabButtons());
    markTabs();
  }
  showHead();
  const shown = views[chosen.view];
  for (const view of Object.values(views)) {
    if (view === shown && view.update) view.update();
    else view.isStale = true;
  }
  const items = chosen.filter ? stepNumbers.filter(isStepShown) : stepNumbers;
  stepList.renewItems(items);
  fillCount(items.length);
  markList(false);
  showDetail({ isSame: true });
}

// The head, with a fold of notes as it was.
function showHead() {
  const old = document.querySelector(".head");
  const fresh = head();
  const fold = fresh.querySelector("details");
  if (fold && old.querySelector("details[open]")) fold.open = true;
  renew(old, [...fresh.childNodes]);
}

function markTabs() {
  const view = chosen.view;
  for (const button of tabBar.querySelectorAll("[role=tab]")) {
    const isChosen = button.id === `tab-${view}`;
    button.setAttribute("aria-selected", isChosen);
    button.tabIndex = isChosen ? 0 : -1;
    if (isChosen) button.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function showView() {
  const view = chosen.view;
  const ofDomain = views_of_domain.has(view);
  markTabs();
  stage.setAttribute("aria-labelledby", `tab-${view}`);
  panes.classList.toggle("list-only", view === "steps");
  panes.classList.toggle("no-list", view === "candidates" || (ofDomain ? view === "findings" || view === "types" : !steps.length));
  panes.classList.toggle("no-detail", view === "candidates" || view === "findings" || view === "types");
  stepList.element.hidden = ofDomain;
  itemList.element.hidden = !ofDomain;
  stepList.element.style.display = ofDomain ? "none" : "";
  itemList.element.style.display = ofDomain ? "" : "none";
  if (view !== "steps") {
    views[view] = views[view] || makers[view]();
    stage.replaceChildren(views[view].element);
    views[view].arrange();
    if (views[view].isStale && views[view].update) views[view].update();
    views[view].isStale = false;
    if (views[view].follow) views[view].follow({ ...chosen, step: -1, item: null });
  }
  fillList();
  markList(true);
}

function fillList() {
  const ofDomain = views_of_domain.has(chosen.view);
  if (ofDomain) itemList.setItems(domainItems.filter((item) => !chosen.filter || matches(`${item.name} ${item.kind || "action"} ${item.description || ""}`)));
  else stepList.setItems(chosen.filter ? stepNumbers.filter(isStepShown) : stepNumbers);
  fillCount((ofDomain ? itemList : stepList).items.length);
  markList(false);
}

function fillCount(shown) {
  const all = views_of_domain.has(chosen.view) ? domainItems : steps;
  count.textContent = chosen.filter ? `${shown.toLocaleString("en")} of ${all.length.toLocaleString("en")}` : "";
  costHead.hidden = all !== steps || !showsCosts || Boolean(page.run);
}

function markList(scroll) {
  stepList.setActive(stepList.items.indexOf(chosen.step), scroll);
  itemList.setActive(itemList.items.findIndex((item) => item.name === chosen.item), scroll);
}

// Says what is chosen now, and what rests on it: the heads of the details.
function announceChoice() {
  const isChosen = chosen.step || chosen.item || chosen.event >= 0 || chosen.node >= 0;
  const heads = isChosen ? [...detail.querySelectorAll(".eyebrow, h2, .callout")].slice(0, 3) : [];
  announce(heads.length ? heads.map((each) => each.textContent.replace(/\.$/, "")).join(". ") : "Nothing is chosen");
}

onChange((before, options) => {
  showDetail();
  if (["step", "item", "event", "node"].some((part) => before[part] !== chosen[part]) && before.view) announceChoice();
  if (before.view !== chosen.view) showView();
  else {
    if (before.filter !== chosen.filter) fillList();
    const view = views[chosen.view];
    if (view && view.follow) view.follow(before, options);
    markList(true);
  }
  const hash = `#${chosen.view}${chosen.step ? `/${chosen.step}` : chosen.item ? `/${encodeURIComponent(chosen.item)}` : ""}`;
  try { history.replaceState(null, "", hash); } catch { /* some viewers keep no history */ }
});

search.addEventListener("input", () => choose({ filter: search.value.trim() }));
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { search.value = ""; choose({ filter: "" }); search.blur(); }
  else if (event.key === "ArrowDown" || event.key === "Enter") (views_of_domain.has(chosen.view) ? itemList : stepList).element.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

tabBar.addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  const shown = tabs.map(([id]) => id).filter((id) => document.getElementById(`tab-${id}`).offsetParent);
  const next = shown[(shown.indexOf(chosen.view) + by + shown.length) % shown.length];
  choose({ view: next });
  document.getElementById(`tab-${next}`).focus();
});

// From a step along its causal links: to what it needs, or to what needs it.
function moveAlong(isForward) {
  const found = (isForward ? givesOf : needsOf).get(chosen.step) || [];
  const numbers = found.map((link) => link[isForward ? 1 : 0]).filter((number) => number > 0);
  if (numbers.length) choose({ step: isForward ? Math.min(...numbers) : Math.max(...numbers), node: -1 });
}

function moveStep(by) {
  const list = views_of_domain.has(chosen.view) ? itemList : stepList;
  if (!list.items.length) return;
  const place = Math.min(list.items.length - 1, Math.max(0, list.active + by));
  list.pick(list.items[place], place);
}

const keys = {
  "?": () => help.showModal(),
  "/": () => { if (!side.offsetParent && tabs.some(([id]) => id === "steps")) choose({ view: "steps" }); search.focus(); search.select(); },
  t: switchTheme,
  ArrowDown: () => moveStep(1),
  ArrowUp: () => moveStep(-1),
  j: () => moveStep(1),
  k: () => moveStep(-1),
  ArrowRight: () => moveAlong(true),
  ArrowLeft: () => moveAlong(false),
  Enter: () => detail.focus(),
  Escape: () => (document.activeElement === detail ? stage.focus() : clearChoice()),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const target = event.target;
  if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) return;
  if (event.key === "Enter" && (target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement || target.tagName === "SUMMARY")) return;
  const shown = tabs.map(([id]) => id).filter((id) => document.getElementById(`tab-${id}`).offsetParent);
  const number = Number(event.key);
  const isScrolled = target instanceof Element && target.closest(".pad") && event.key.startsWith("Arrow");
  if (number >= 1 && number <= shown.length) choose({ view: shown[number - 1] });
  else if (keys[event.key] && !isScrolled) keys[event.key]();
  else return;
  event.preventDefault();
});

function readHash() {
  try { return decodeURIComponent(location.hash.slice(1)).split("/"); } catch { return [""]; }
}

function start() {
  const saved = (() => { try { return localStorage.getItem("forethought-theme"); } catch { return null; } })();
  setTheme(saved in themes ? saved : "auto");
  document.body.append(arrowHeads());
  const tools = el("div", { class: "tools" }, themeButton, el("button", { class: "tool", type: "button", "aria-label": "Keys", title: "Keys (?)", onclick: () => help.showModal() }, "?"));
  document.body.append(heardNews);
  document.getElementById("app").append(head(), el("nav", { class: "bar", "aria-label": "Views" }, tabBar, tools), panes, help);
  for (const starter of starters) starter(tools);
  const [wanted, what] = readHash();
  const view = tabs.some(([id]) => id === wanted) ? wanted : firstView;
  const step = Number(what) >= 1 && Number(what) <= goalNumber ? Math.floor(Number(what)) : 0;
  choose({ view, step, item: step ? "" : what || "" });
  document.documentElement.dataset.ready = Math.round(performance.now());
}

start();
