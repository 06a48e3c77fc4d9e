// The document, what is chosen on the page, and how elements are made. Every text becomes a text node: names may hold
// markup, quotes or letters that run from right to left, and none of it is ever parsed.

let page = JSON.parse(document.getElementById("document").textContent);
const listOf = (name, from = page) => from[name] || [];

// What follows from the document is computed by readers, and once more when a newer document of the same run comes.
const readers = [];
function onDocument(reader) {
  readers.push(reader);
  reader();
}

function readDocument(found) {
  page = found;
  for (const reader of readers) reader();
}

const starters = []; // called when the page stands
let liveMark = () => ""; // how a page that follows a run stands

let steps, texts, links, goalNumber;
onDocument(() => {
  steps = listOf("steps");
  texts = listOf("texts");
  links = listOf("links");
  goalNumber = steps.length + 1;
});

function el(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== ""));
  return element;
}

// Control characters, and marks that turn the direction of what follows: they could make a name look like another one.
const plain = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
// A name of the domain keeps to its own direction of writing.
const name = (text) => el("bdi", {}, plain(text));
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const stepOf = (number) => steps[number - 1];
const argumentsOf = (step) => listOf("arguments", step).join(", ");

function stepText(number) {
  if (number === 0) return "the initial state";
  if (number === goalNumber) return "the goal";
  if (number > goalNumber) return "the end, without the goal";
  const step = stepOf(number);
  return `${step.action}(${argumentsOf(step)})`;
}

// The causal links by their ends, and for each step the next link on a shortest way to the goal.
const needsOf = new Map();
const givesOf = new Map();
onDocument(() => {
  needsOf.clear();
  givesOf.clear();
  for (const link of links) {
    const [provider, consumer] = link;
    if (!needsOf.has(consumer)) needsOf.set(consumer, []);
    if (!givesOf.has(provider)) givesOf.set(provider, []);
    needsOf.get(consumer).push(link);
    givesOf.get(provider).push(link);
  }
});

let purposes;
onDocument(() => {
  const onward = new Map();
  const queue = [goalNumber];
  for (let place = 0; place < queue.length; place += 1) {
    for (const link of needsOf.get(queue[place]) || []) {
      if (link[0] === 0 || link[0] === goalNumber || onward.has(link[0])) continue;
      onward.set(link[0], link);
      queue.push(link[0]);
    }
  }
  purposes = onward;
});

function chainOf(number) {
  const chain = [];
  for (let at = number; purposes.has(at); at = purposes.get(at)[1]) chain.push(purposes.get(at));
  return chain;
}

function countDependents(number) {
  const seen = new Set([number]);
  const queue = [number];
  for (let place = 0; place < queue.length; place += 1) {
    for (const [, consumer] of givesOf.get(queue[place]) || []) {
      if (seen.has(consumer)) continue;
      seen.add(consumer);
      queue.push(consumer);
    }
  }
  return seen.size - 1 - (seen.has(goalNumber) ? 1 : 0);
}

// What is chosen; views listen, and show it each in its own way.
const chosen = { view: "", step: 0, item: "", event: -1, node: -1, candidate: 0, filter: "" };
const listeners = [];
const onChange = (listener) => listeners.push(listener);

function choose(changes, options = {}) {
  const before = { ...chosen };
  Object.assign(chosen, changes);
  for (const listener of listeners) listener(before, options);
}

// What those hear who do not see the page change.
const heardNews = el("p", { class: "hidden", role: "status", "aria-live": "polite" });

function announce(text) {
  heardNews.textContent = plain(text);
}

const unseen = (text) => el("span", { class: "hidden" }, text);

const matches = (text) => {
  const words = chosen.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
};

let stepSearch;
onDocument(() => { stepSearch = steps.map((step, place) => `${place + 1} ${step.action} ${argumentsOf(step)} ${step.status || ""}`); });
const isStepShown = (number) => !chosen.filter || matches(stepSearch[number - 1]);

const statusTones = { succeeded: "good", failed: "bad", partial: "bad", unverified: "warn", "in doubt": "warn", waiting: "warn" };
const toneOf = (step) => statusTones[step.status] || "";

// Puts new children in place of old ones that look otherwise; what is the same stays, with its focus.
function renew(parent, children) {
  const fresh = children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== "");
  const old = [...parent.childNodes];
  fresh.forEach((each, place) => {
    if (!old[place]) parent.append(each);
    else if (old[place] instanceof HTMLElement && each instanceof HTMLElement && old[place].isEqualNode(each)) return;
    else if (old[place].nodeType === Node.TEXT_NODE && old[place].data === each) return;
    else old[place].replaceWith(each);
  });
  for (const each of old.slice(fresh.length)) each.remove();
}

// The first items as they are drawn, and how many more there are.
function firstOf(items, most, drawItem) {
  const more = items.length - most;
  return [...items.slice(0, most).map(drawItem), more > 0 ? el("li", { class: "muted" }, `… ${more.toLocaleString("en")} more`) : null];
}

function icon(path) {
  return svg("svg", { viewBox: "0 0 18 18", "aria-hidden": "true" }, svg("path", { d: path }));
}
