// The open questions of a run that a page follows, each a card with the answers that it takes. A card stays while its
// question is as it was shown: what somebody is writing in it is not lost when a newer document comes.

const cards = new Map();
const askedList = el("ul", { class: "asked" });
const tooLate = el("p", { class: "ask-problem", role: "alert" }); // what was said of an answer whose card is gone
const askedPart = el("section", { class: "questions", "aria-label": "Open questions", hidden: true }, askedList, tooLate);
const button = (text, action, kind = "") => el("button", { class: `button ${kind}`, type: "button", onclick: action }, text);
const askedKinds = { approval: "Approval", parameters: "Values are missing", doubt: "Did it happen?", choice: "What now?", wait: "It waits for this" };

class QuestionCard {
  constructor(item) {
    this.item = item;
    this.part = ""; // which answer is being written
    this.problem = el("p", { class: "ask-problem", role: "alert" });
    this.note = el("p", { class: "ask-note", role: "status" });
    this.controls = el("div", { class: "ask-controls" });
    const known = listOf("known", item);
    this.element = el("li", { class: "ask", tabindex: "-1" },
      el("div", { class: "ask-text" },
        el("p", { class: "eyebrow" }, askedKinds[item.kind], item.step ? [" · ", pickStep(item.step)] : ""),
        el("h2", {}, name(item.text)),
        known.length ? el("ul", { class: "facts" }, known.map((each) => el("li", {}, name(each)))) : ""),
      el("div", { class: "ask-side" }, this.controls, this.note, this.problem));
    this.fill();
    this.update(item);
    this.until();
  }

  // Says until when an answer counts, and closes the card then.
  until() {
    const { until } = this.item;
    if (!until) return;
    const left = until * 1000 - Date.now();
    const when = new Date(until * 1000).toLocaleString();
    this.note.textContent = left > 0 ? `An answer counts until ${when}.` : `Its time was over at ${when}.`;
    this.controls.hidden = this.controls.hidden || left <= 0;
    if (left > 0) setTimeout(() => this.until(), Math.min(left + 100, 2 ** 30));
  }

  // Shows the controls for the part of an answer that is being written.
  fill() {
    const { item } = this;
    const parts = { why: () => this.refusal(), created: () => this.creation(), changed: () => this.changes() };
    const isOpen = item.kind === "wait" && !listOf("choices", item).length;
    if (this.part) this.controls.replaceChildren(parts[this.part]());
    else if (item.kind === "parameters") this.controls.replaceChildren(this.values("The value, or values by name as JSON"));
    else if (isOpen) this.controls.replaceChildren(this.values("What came of it: a text, or a result as JSON"), button("No", () => this.send("no")));
    else this.controls.replaceChildren(...this.choices());
  }

  choices() {
    const { item } = this;
    const [first, second] = listOf("choices", item);
    if (item.kind === "approval") {
      const change = listOf("values", item).length ? [button("Change …", () => this.turnTo("changed"))] : [];
      return [button("Approve", () => this.send(first), "primary"), ...change, button("Refuse …", () => this.turnTo("why"))];
    }
    return listOf("choices", item).map((choice) => {
      const needsNames = listOf("creates", item).length && choice === first && choice !== second;
      return button(choice[0].toUpperCase() + choice.slice(1) + (needsNames ? " …" : ""), () => (needsNames ? this.turnTo("created") : this.send(choice)));
    });
  }

  turnTo(part) {
    this.part = part;
    this.fill();
    const first = this.controls.querySelector("input, textarea, button");
    if (first) first.focus();
  }

  form(fields, label, answer) {
    const back = this.part ? button("Back", () => this.turnTo("")) : "";
    const submit = (event) => { event.preventDefault(); this.send(answer()); };
    const form = el("form", { class: "ask-form" }, fields, el("div", { class: "ask-buttons" }, el("button", { class: "button primary", type: "submit" }, label), back));
    form.addEventListener("submit", submit);
    form.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.part) { event.stopPropagation(); this.turnTo(""); } });
    return form;
  }

  field(label, input) {
    return el("label", { class: "ask-field" }, el("span", {}, label), input);
  }

  refusal() {
    const reason = el("input", { type: "text", autocomplete: "off", maxlength: 2000 });
    const no = listOf("choices", this.item)[1];
    return this.form(this.field("Why not? (may stay empty)", reason), "Refuse", () => (reason.value.trim() ? `${no}: ${reason.value.trim()}` : no));
  }

  creation() {
    const inputs = listOf("creates", this.item).map((each) => [each, el("input", { type: "text", autocomplete: "off", required: true })]);
    return this.form(inputs.map(([each, input]) => this.field(["What is ", name(each), " called?"], input)), "It happened",
      () => ({ created: Object.fromEntries(inputs.map(([each, input]) => [each, input.value.trim()])) }));
  }

  // Other values with which the step is approved: those that are filled in.
  changes() {
    const texts = listOf("texts", this.item);
    const read = (each, text) => { try { return texts.includes(each) ? text : JSON.parse(text); } catch { return text; } };
    const inputs = listOf("values", this.item).map((each) => [each, el("input", { type: "text", autocomplete: "off" })]);
    return this.form(inputs.map(([each, input]) => this.field([name(each), " (empty: as shown)"], input)), "Approve with these",
      () => ({ values: Object.fromEntries(inputs.filter(([, input]) => input.value.trim()).map(([each, input]) => [each, read(each, input.value.trim())])) }));
  }

  values(label) {
    const text = el("textarea", { rows: 2, required: true });
    const read = () => {
      try {
        const found = JSON.parse(text.value);
        if (found && typeof found === "object" && !Array.isArray(found)) return found;
      } catch { /* a text as it stands */ }
      return text.value;
    };
    return this.form(this.field(label, text), "Answer", read);
  }

  async send(answer) {
    this.element.focus(); // buttons that are disabled lose the focus
    this.busy(true);
    this.tell("", "Sending …");
    tooLate.textContent = "";
    const { item } = this;
    try {
      const said = await fetch("answers", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ run: page.run.id, question: item.name, shown: item.shown, answer }),
      });
      const found = await said.json();
      if (!said.ok) this.tell([found.problem, found.hint].filter(Boolean).join("; "), "");
      else this.tell("", "Sent.");
    } catch {
      this.tell("There is no connection to the server: the answer was not sent.", "");
    }
    this.busy(false);
    this.update(this.item);
  }

  busy(isBusy) {
    this.element.setAttribute("aria-busy", isBusy);
    for (const each of this.controls.querySelectorAll("button, input, textarea")) each.disabled = isBusy;
  }

  tell(problem, note) {
    this.problem.textContent = plain(problem);
    this.told = Date.now();
    if (!this.element.isConnected) this.leave();
    this.note.textContent = note;
  }

  // Keeps what was just said of an answer in sight when its question is gone: it came too late.
  leave() {
    if (!this.problem.textContent || Date.now() - this.told > 10000) return;
    tooLate.textContent = this.problem.textContent;
    askedPart.hidden = false;
  }

  // Takes the question as a newer document has it: posted answers and objections come from there.
  update(item) {
    const isNew = item.objection !== this.item.objection || item.answer !== this.item.answer;
    this.item = item;
    const isPosted = Boolean(item.answer);
    this.element.classList.toggle("is-posted", isPosted);
    this.controls.hidden = isPosted;
    if (isPosted) {
      const rest = page.run.driven ? "The run takes it in a moment." : `It is kept in the journal: the run goes on with it when it is taken up, by a worker or by forethought run … --resume ${page.run.id}.`;
      renew(this.note, [`Answered: ${plain(item.answer)}. `, rest]);
    } else if (item.objection && isNew) this.tell(item.objection, "");
    else if (!item.answer && isNew) this.note.textContent = "";
  }
}

function showQuestions() {
  const items = page.run ? listOf("questions", page.run) : [];
  const keyOf = (item) => `${item.name} ${item.shown}`;
  const wanted = new Set(items.map(keyOf));
  const active = document.activeElement;
  let lost = false;
  for (const [key, card] of cards) {
    if (wanted.has(key)) continue;
    lost = lost || card.element.contains(active);
    card.element.remove();
    card.leave();
    cards.delete(key);
  }
  const fresh = items.filter((item) => !cards.has(keyOf(item)));
  for (const item of items) {
    const card = cards.get(keyOf(item));
    if (card) card.update(item);
    else {
      cards.set(keyOf(item), new QuestionCard(item));
      askedList.append(cards.get(keyOf(item)).element);
    }
  }
  askedPart.hidden = !items.length && !tooLate.textContent;
  if (lost) {
    // To the next question, not to its first button: nobody shall approve what they have not read.
    (askedList.querySelector(".ask:not(.is-posted)") || stage).focus();
  }
  return fresh;
}
