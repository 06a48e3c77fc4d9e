// What a printer gets: the head, the graph, and tables of all that the panes would scroll through.

const printed = document.getElementById("print");

function preparePrint() {
  const parts = [el("h1", {}, name(page.title)), el("p", {}, name(page.subtitle || "")),
    el("p", {}, listOf("figures").map((figure) => `${figure.label}: ${figure.value}`).join(" · ")), el("ul", {}, listOf("notes").map((note) => el("li", {}, name(note))))];
  if (page.graph && steps.length <= 400) {
    const graph = makers.graph();
    graph.arrange(680);
    const copy = graph.drawing.cloneNode(false);
    copy.append(svg("g", {}, graph.edges.map((edge, place) => graph.drawEdge(edge, graph.routes[place]))), svg("g", {}, graph.nodes.map((node, place) => graph.drawNode(node, place, graph.boxes[place]))),
      svg("g", {}, graph.options.labelled ? graph.edges.map((edge, place) => drawLabel(edge, graph.routes[place])) : []));
    parts.push(el("h2", {}, page.policy ? "The policy" : "Order of the steps"), copy);
  }
  if (page.tree) parts.push(el("h2", {}, "Decomposition"), printTree());
  if (page.policy) parts.push(el("h2", {}, "States and outcomes"), printOutcomes());
  else if (steps.length) parts.push(el("h2", {}, "Steps"), printSteps());
  if (isTimed || page.run) parts.push(el("h2", {}, page.run ? "Attempts" : "Schedule"), printBars(page.run ? timelineParts() : scheduleParts()));
  if (page.answers) parts.push(...answersView().element.childNodes);
  if (page.candidates) parts.push(candidatesView().element);
  if (page.run) parts.push(el("h2", {}, "Events"), printTable(["Time", "Who", "What"], runEvents.map((event) => [duration(event.time || 0).replace(" ", "\u00a0"), event.who || "", event.text])));
  if (page.domain && page.kind === "domain") parts.push(el("h2", {}, "Declarations"), printTable(["Name", "What"], domainItems.map((item) => [item.signature, [item.description || "", ...listOf("sections", item).map((section) => `${section.title}: ${section.lines.join(", ")}`)].filter(Boolean).join("; ")])));
  if (page.search && listOf("points", page.search).length) parts.push(printSearch());
  if (page.domain && page.kind === "domain" && listOf("findings", page.domain).length) parts.push(el("h2", {}, "Findings"), printTable(["Level", "Place", "What"], page.domain.findings.map((each) => [each.level, each.place, each.message])));
  printed.replaceChildren(...parts);
}

const printTable = (heads, rows) => el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", {}, head)))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", { class: cell.length < 16 ? "short" : "" }, name(cell)))))));

function printSteps() {
  const reason = (number) => {
    const link = purposes.get(number);
    return link ? `${texts[link[2]]} for ${link[1] === goalNumber ? "the goal" : link[1]}` : "";
  };
  const hasCosts = steps.some((step) => isKnown(step.cost));
  return printTable(["", "Step", ...(isTimed ? ["Start", "End"] : []), ...(hasCosts ? ["Cost"] : []), page.run ? "Status" : "Why"], steps.map((step, place) => [
    String(place + 1), stepText(place + 1), ...(isTimed ? [whenText(page.chart.starts[place]), whenText(page.chart.ends[place])] : []),
    ...(hasCosts ? [isKnown(step.cost) ? amountText(step.cost) : ""] : []), page.run ? step.status || "" : reason(place + 1)]));
}

// Bars over time as a drawing that is as wide as the paper.
function printBars({ rows, span, markers, describe }) {
  const [left, width, lane, top] = [190, 460, 18, 20];
  const x = (time) => left + (time / span) * width;
  const [step, format] = describe(span / 6);
  const ticks = [];
  for (let at = 0; at <= span + step / 1e6; at += step) ticks.push(at);
  const height = top + rows.length * lane + 6;
  const fills = { critical: "var(--accent)", slack: "var(--line)", good: "var(--good)", bad: "var(--bad)", warn: "var(--warn)" };
  return svg("svg", { class: "graph", viewBox: `0 0 660 ${height}`, width: 660, height, role: "img" },
    ticks.map((at) => [svg("path", { class: "plot-rule", d: `M${x(at)} ${top - 4}V${height}` }), svg("text", { x: x(at), y: 11, "text-anchor": at ? "middle" : "start", "font-size": 10 }, format(at))]),
    markers.map((each) => svg("path", { class: "wire threat", d: `M${x(each.time || 0)} ${top - 4}V${height}` })),
    rows.map((row, place) => [
      svg("text", { x: 0, y: top + place * lane + 12, "font-size": 10.5 }, isolate(fitText(`${row.number} ${stepText(row.number)}`, left - 14, "10.5px"))),
      row.bars.map((bar) => svg("rect", { x: x(bar.from), y: top + place * lane + 3, width: Math.max(bar.kind === "slack" ? 0 : 2, x(bar.to) - x(bar.from)), height: 12, rx: 2, style: `fill:${fills[bar.kind] || "var(--bar)"}` }))]));
}

function printSearch() {
  const points = listOf("points", page.search);
  const lanes = listOf("lanes", page.search).filter((lane) => listOf("begins", lane).length);
  return el("section", { class: "whole" }, el("h2", {}, "Search"), el("p", {}, searchStory(points)), plotLegend(points, lanes), new SearchPlot(points, lanes, 660, el("p")).drawing);
}

function printTree() {
  const lines = [];
  const stack = [...page.tree.roots].reverse().map((place) => [place, 0]);
  while (stack.length) {
    const [place, level] = stack.pop();
    const node = page.tree.nodes[place];
    lines.push(el("li", { style: `padding-left:${level * 14}pt` }, node.step ? `${node.step}. ` : "", name(node.label), node.method ? ` by ${node.method}` : ""));
    for (const child of [...(node.children || [])].reverse()) stack.push([child, level + 1]);
  }
  return el("ul", {}, lines);
}

addEventListener("beforeprint", preparePrint);
addEventListener("afterprint", () => printed.replaceChildren());
