// A decomposition as a tree that folds; only the rows that are seen are made.

class TreeView {
  constructor() {
    this.nodes = page.tree.nodes;
    this.closed = new Set();
    this.above = new Map();
    this.nodes.forEach((node, place) => (node.children || []).forEach((child) => this.above.set(child, place)));
    this.stepNodes = new Map();
    this.nodes.forEach((node, place) => node.step && this.stepNodes.set(node.step, place));
    this.below = this.countBelow();
    this.list = new VirtualList({
      label: "Decomposition", height: LANE, role: "tree", rowRole: "treeitem", rowClass: "tree-row",
      draw: (row, item) => this.drawRow(row, item),
      pick: (item) => this.pick(item.place),
    });
    this.list.element.addEventListener("keydown", (event) => this.onKey(event));
    const button = (text, action) => el("button", { class: "button", type: "button", onclick: action }, text);
    const tools = el("div", { class: "toolbar" }, button("Unfold all", () => this.foldAll(false)), button("Fold all", () => this.foldAll(true)));
    this.element = el("div", { style: "display:contents" }, tools, this.list.element);
    this.arrange();
  }

  countBelow() {
    const counts = this.nodes.map((node) => (node.step ? 1 : 0));
    for (const [step, place] of this.stepNodes) {
      void step;
      for (let at = this.above.get(place); at !== undefined; at = this.above.get(at)) counts[at] += 1;
    }
    return counts;
  }

  arrange() {
    const items = [];
    // Of each row: its node, its level, and its place among how many siblings.
    const among = (places, level) => places.map((place, at) => ({ place, level, at: at + 1, of: places.length })).reverse();
    const stack = among(page.tree.roots || [], 0);
    while (stack.length) {
      const item = stack.pop();
      items.push(item);
      if (!this.closed.has(item.place)) stack.push(...among(this.nodes[item.place].children || [], item.level + 1));
    }
    this.items = chosen.filter ? this.filtered(items) : items;
    this.list.setItems(this.items);
    this.activate(false);
  }

  // What matches, with the tasks above it.
  filtered(items) {
    const kept = new Set();
    for (const { place } of items) {
      const node = this.nodes[place];
      if (!matches(`${node.label} ${node.method || ""}`)) continue;
      for (let at = place; at !== undefined && !kept.has(at); at = this.above.get(at)) kept.add(at);
    }
    return items.filter((item) => kept.has(item.place));
  }

  drawRow(row, { place, level, at, of }) {
    row.setAttribute("aria-posinset", at);
    row.setAttribute("aria-setsize", of);
    const node = this.nodes[place];
    const isTask = Boolean(node.children && node.children.length);
    const left = 18 + Math.min(level, 40) * 20;
    row.style.paddingLeft = `${left}px`;
    row.setAttribute("aria-level", level + 1);
    if (isTask) row.setAttribute("aria-expanded", this.closed.has(place) ? "false" : "true");
    for (let rail = 0; rail < Math.min(level, 40); rail += 1) row.append(el("span", { class: "rail", style: `left:${26 + rail * 20}px` }));
    const fold = el("span", { class: "fold" }, isTask ? icon("M6 4l5 5-5 5") : "");
    if (isTask) fold.addEventListener("click", (event) => { event.stopPropagation(); this.fold(place); });
    row.append(fold);
    if (node.step) row.append(el("span", { class: "step-no" }, String(node.step)), el("span", {}, name(node.label)));
    else {
      row.append(el("span", { class: "task" }, name(node.label)), el("span", { class: "by" }, "by ", name(node.method || "—")));
      const count = listOf("alternatives", node).length;
      if (this.closed.has(place)) row.append(el("span", { class: "more" }, `· ${plural(this.below[place], "step")}`));
      else if (count) row.append(el("span", { class: "more hide-narrow" }, `· ${plural(count, "other way")}`));
    }
  }

  pick(place) {
    const node = this.nodes[place];
    choose({ node: place, step: node.step || 0 });
  }

  fold(place) {
    if (this.closed.has(place)) this.closed.delete(place);
    else this.closed.add(place);
    this.arrange();
  }

  foldAll(closed) {
    this.closed = new Set(closed ? this.nodes.flatMap((node, place) => (node.children && node.children.length ? [place] : [])) : []);
    this.arrange();
  }

  onKey(event) {
    const item = this.items[this.list.active];
    if (!item) return;
    const children = this.nodes[item.place].children || [];
    const isOpen = children.length > 0 && !this.closed.has(item.place);
    if (event.key === "ArrowLeft") {
      if (isOpen) this.fold(item.place);
      else if (this.above.has(item.place)) this.pick(this.above.get(item.place));
    } else if (event.key === "ArrowRight") {
      if (children.length && !isOpen) this.fold(item.place);
      else if (isOpen) this.pick(children[0]);
    } else if (event.key === " ") {
      if (children.length) this.fold(item.place);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  activate(scroll) {
    const wanted = chosen.node >= 0 ? chosen.node : this.stepNodes.get(chosen.step);
    this.list.setActive(this.items.findIndex((item) => item.place === wanted), scroll);
  }

  follow(before) {
    if (before.step !== chosen.step && chosen.step && (chosen.node < 0 || this.nodes[chosen.node].step !== chosen.step)) {
      chosen.node = this.stepNodes.has(chosen.step) ? this.stepNodes.get(chosen.step) : -1;
      for (let at = this.above.get(chosen.node); at !== undefined; at = this.above.get(at)) this.closed.delete(at);
      this.arrange();
    }
    if (before.filter !== chosen.filter) this.arrange();
    this.activate(true);
  }
}
