// A list box of thousands of rows that makes only those that are seen: rows have one height, and the list box tells
// assistive technology which row is active, how many there are, and which of them is seen.

let listCount = 0;

// On a phone the details cover the lower part of what scrolls: how much of it, in pixels.
function coveredBySheet(element) {
  const sheet = document.querySelector(".detail.open");
  if (!sheet || getComputedStyle(sheet).position !== "fixed") return 0;
  const covered = element.getBoundingClientRect().bottom - sheet.getBoundingClientRect().top;
  return Math.min(Math.max(0, covered), element.clientHeight - 80);
}

class VirtualList {
  constructor({ label, height, draw, pick, role = "listbox", rowRole = "option", rowClass = "row" }) {
    this.height = height;
    this.draw = draw;
    this.pick = pick;
    this.rowRole = rowRole;
    this.rowClass = rowClass;
    this.prefix = `list${(listCount += 1)}-`;
    this.items = [];
    this.active = -1;
    this.rows = new Map();
    this.room = el("div", { class: "list-room", role: "presentation" });
    this.element = el("div", { class: "list", role, tabindex: "0", "aria-label": label }, this.room);
    this.element.addEventListener("scroll", () => this.refresh(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.refresh()).observe(this.element);
  }

  setItems(items) {
    this.items = items;
    this.room.style.height = `${items.length * this.height}px`;
    this.clear();
    this.refresh();
  }

  // Takes newer items in place of the same ones: rows that look as before stay.
  renewItems(items) {
    this.items = items;
    this.room.style.height = `${items.length * this.height}px`;
    for (const [place, row] of this.rows) {
      const newer = place < items.length ? this.make(place) : null;
      if (newer && row.isEqualNode(newer)) continue;
      row.remove();
      this.rows.delete(place);
      if (newer) this.rows.set(place, this.room.appendChild(newer));
    }
    this.refresh();
  }

  clear() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
  }

  refresh() {
    const view = this.element.clientHeight || 800;
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - 6);
    const last = Math.min(this.items.length, Math.ceil((this.element.scrollTop + view) / this.height) + 6);
    for (const [place, row] of this.rows) {
      if (place < first || place >= last) {
        row.remove();
        this.rows.delete(place);
      }
    }
    for (let place = first; place < last; place += 1) {
      if (!this.rows.has(place)) this.rows.set(place, this.room.appendChild(this.make(place)));
    }
  }

  make(place) {
    const row = el("div", {
      class: this.rowClass,
      role: this.rowRole,
      id: this.prefix + place,
      "aria-setsize": this.items.length,
      "aria-posinset": place + 1,
      "aria-selected": place === this.active ? "true" : "false",
      style: `top:${place * this.height}px;height:${this.height}px`,
      onclick: () => this.pick(this.items[place], place),
    });
    this.draw(row, this.items[place], place);
    return row;
  }

  setActive(place, scroll = true) {
    const before = this.rows.get(this.active);
    if (before) before.setAttribute("aria-selected", "false");
    this.active = place;
    if (place < 0) {
      this.element.removeAttribute("aria-activedescendant");
      return;
    }
    if (scroll) this.reveal(place);
    this.refresh();
    const row = this.rows.get(place);
    if (row) row.setAttribute("aria-selected", "true");
    this.element.setAttribute("aria-activedescendant", this.prefix + place);
  }

  reveal(place) {
    const top = place * this.height;
    const view = this.element.clientHeight - coveredBySheet(this.element);
    if (top < this.element.scrollTop) this.element.scrollTop = Math.max(0, top - this.height);
    else if (top + this.height > this.element.scrollTop + view) this.element.scrollTop = top - view + 2 * this.height;
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in moves) || !this.items.length) return;
    event.preventDefault();
    event.stopPropagation();
    const from = this.active < 0 && moves[event.key] > 0 ? -1 : this.active;
    const place = Math.min(this.items.length - 1, Math.max(0, from + moves[event.key]));
    this.pick(this.items[place], place);
  }
}
