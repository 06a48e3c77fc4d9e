// Candidates side by side: steps that all share are calm, those of one candidate alone stand out.

function candidatesView() {
  const candidates = page.candidates;
  const best = new Map();
  const differs = (label) => new Set(candidates.map((each) => (each.figures.find((figure) => figure.label === label) || {}).value)).size > 1;
  for (const each of candidates) {
    for (const figure of each.figures) {
      const value = Number(figure.value);
      if (["cost", "makespan", "duration", "risk"].includes(figure.label) && !(best.get(figure.label) <= value)) best.set(figure.label, value);
    }
  }
  const isBest = (figure) => differs(figure.label) && best.get(figure.label) === Number(figure.value);
  const areSame = candidates.every((each) => (each.steps || []).every((step) => step.shared === candidates.length));
  const columns = candidates.map((each) => {
    const kindOf = (step) => (step.shared === candidates.length ? (areSame ? "some" : "all") : step.shared === 1 ? "only" : "some");
    return el("section", { class: "candidate", "aria-label": each.title },
      el("h2", {}, each.title),
      el("dl", { class: "figures" }, each.figures.map((figure) => el("div", { class: "figure" }, el("dt", {}, figure.label),
        el("dd", { class: isBest(figure) ? "best" : "" }, figure.value, isBest(figure) ? [el("span", { "aria-hidden": "true" }, " ✓"), unseen(" (best)")] : "")))),
      each.note ? el("p", { class: "muted" }, name(each.note)) : null,
      el("ol", {}, (each.steps || []).map((step, place) => el("li", { class: kindOf(step) }, el("span", { class: "no" }, String(place + 1)), el("span", { class: "name" }, name(step.text), candidates.length > 1 && kindOf(step) === "only" ? unseen(", in this one only") : "")))));
  });
  const legend = areSame ? el("div", { class: "toolbar" }, "All have the same steps, in other orders.") : el("div", { class: "toolbar" }, el("span", {}, "Grey: in all candidates. "), el("span", { class: "only-key" }, "Bold and blue: in this one only."));
  const element = el("div", { style: "display:contents" }, candidates.length > 1 ? legend : null,
    el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Candidates side by side" }, el("div", { class: "compare" }, columns)));
  return { element, arrange: () => {}, follow: () => {} };
}
