// A domain: what it declares, its types, and what check finds in it.

const domainItems = page.domain ? listOf("items", page.domain) : [];
const itemNamed = (wanted) => domainItems.find((item) => item.name === wanted && item.kind !== "predicate") || domainItems.find((item) => item.name === wanted);

function declarations() {
  const scroll = el("div", { class: "scroll pad", role: "region", tabindex: "0", "aria-label": "Declarations" });
  const show = () => {
    const titles = { task: "Tasks", method: "Methods", action: "Actions", predicate: "Predicates" };
    const sections = Object.entries(titles).map(([kind, title]) => {
      const items = domainItems.filter((item) => (item.kind || "action") === kind && (!chosen.filter || matches(`${item.signature} ${item.description || ""}`)));
      if (!items.length) return null;
      return el("section", { style: "margin-bottom:34px" }, el("h2", { class: "section-title" }, title), el("div", { class: "cards" }, items.map(card)));
    });
    scroll.replaceChildren(...sections.filter(Boolean));
    if (!scroll.childElementCount) scroll.append(el("p", { class: "muted" }, "Nothing matches."));
  };
  show();
  const follow = (before) => {
    if (before.filter !== chosen.filter) show();
    const wanted = [...scroll.querySelectorAll("article")].find((each) => each.dataset.item === chosen.item);
    if (wanted && before.item !== chosen.item) wanted.scrollIntoView({ block: "nearest" });
  };
  return { element: scroll, arrange: () => {}, follow };
}

function card(item) {
  return el(
    "article", { class: "card", "data-item": item.name },
    el("h3", {}, choiceLink({ item: item.name }, name(item.signature))),
    item.description ? el("p", { class: "muted" }, name(item.description)) : null,
    listOf("sections", item).slice(0, 4).map((section) => sectionLines(section, 6))
  );
}

function sectionLines(section, most = Infinity) {
  const lines = section.lines.slice(0, most);
  const more = section.lines.length - lines.length;
  return el("div", { class: "card-section" }, el("h4", {}, section.title),
    el("ul", { class: "facts" }, lines.map((line) => el("li", {}, name(line))), more ? el("li", { class: "muted" }, `… ${more} more`) : null));
}

function typesView() {
  const types = listOf("types", page.domain);
  const children = new Map();
  const known = new Set(types.map((type) => type.name));
  for (const type of types) {
    const parents = listOf("parents", type).filter((parent) => known.has(parent));
    for (const parent of parents.length ? parents : [""]) children.set(parent, [...(children.get(parent) || []), type]);
  }
  const branch = (parent, level) => (children.get(parent) || []).map((type) => {
    const below = level < 30 ? branch(type.name, level + 1) : [];
    return el("li", {}, el("b", {}, name(type.name)), " ", el("span", { class: "muted" }, name(listOf("objects", type).join(", "))), below.length ? el("ul", {}, below) : "");
  });
  const element = el("div", { class: "scroll pad", role: "region", tabindex: "0", "aria-label": "Types and their objects" }, el("ul", { class: "types" }, branch("", 0)));
  return { element, arrange: () => {}, follow: () => {} };
}

function findingsView() {
  const tones = { error: "tone-bad", warning: "tone-warn", hint: "muted" };
  const items = listOf("findings", page.domain).map((found) =>
    el("li", { class: "finding" },
      el("div", {}, el("span", { class: `level ${tones[found.level] || ""}` }, found.level), " · ", name(found.place), " · ", el("span", { class: "muted mono" }, found.rule)),
      el("p", {}, name(found.message)),
      found.hint ? el("p", { class: "muted" }, name(found.hint)) : null));
  const element = el("div", { class: "scroll pad", role: "region", tabindex: "0", "aria-label": "Findings" }, el("ul", {}, items));
  return { element, arrange: () => {}, follow: () => {} };
}
