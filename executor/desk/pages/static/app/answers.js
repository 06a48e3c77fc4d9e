// Contrastive questions and their answers: what is known, the plan that does what is asked for, and how it differs.

function answersView() {
  const cards = page.answers.map((answer) => el("article", { class: "answer" },
    el("h2", {}, name(answer.question)),
    el("p", { class: `answer-lead tone-${answer.tone}` }, name(answer.lines[0] || "")),
    listOf("figures", answer).length ? figureList(answer.figures) : null,
    answer.lines.slice(1).map((line) => el("p", { class: line.startsWith(" ") ? "sub" : "" }, name(line.trim()))),
    listOf("left_out", answer).length ? el("p", { class: "answer-without" }, "It leaves out ", answer.left_out.flatMap((number, place) => [place ? ", " : "", pickStep(number)]), ".") : null,
    listOf("steps", answer).length ? planOf(answer) : null));
  const element = el("div", { class: "scroll pad answers", role: "region", tabindex: "0", "aria-label": "Questions and answers" }, cards);
  return { element, arrange: () => {}, follow: () => {} };
}

function planOf(answer) {
  const hasNew = answer.steps.some((step) => step.added);
  return el("section", {}, el("h3", {}, "The plan that does it", hasNew ? [": ", el("span", { class: "only-key" }, "new steps")] : ""),
    el("ol", { class: "answer-plan" }, answer.steps.map((step, place) => el("li", { class: step.added ? "only" : "" },
      el("span", { class: "no" }, String(place + 1)), el("span", { class: "name" }, name(step.text), step.added ? unseen(", new") : "")))));
}
