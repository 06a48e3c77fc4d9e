// What a printer gets: the head, the graph, and tables of all that the panes would scroll through.

const printed = document.getElementById("print");

function preparePrint() {
  const parts = [el("h1", {}, name(page.title)), el("p", {}, name(page.subtitle || "")),
    el("p", {}, listOf("figures").map((figure) => `${figure.label}: ${figure.value}`).join(" · ")), el("ul", {}, listOf("notes").map((note) => el("li", {}, name(note))))];
  const graph = views.graph && views.graph.lines ? views.graph : null;
  if (graph && steps.length <= 400) {
    const copy = graph.drawing.cloneNode(false);
    copy.append(svg("g", {}, graph.edges.map((edge, place) => graph.drawEdge(edge, graph.routes[place]))), svg("g", {}, graph.nodes.map((node, place) => graph.drawNode(node, place, graph.boxes[place]))),
      svg("g", {}, graph.options.labelled ? graph.edges.map((edge, place) => drawLabel(edge, graph.routes[place])) : []));
    parts.push(el("h2", {}, page.policy ? "The policy" : "Order of the steps"), copy);
  }
  if (page.search && listOf("points", page.search).length) parts.push(el("h2", {}, "Search"), printSearch());
  if (page.tree) parts.push(el("h2", {}, "Decomposition"), printTree());
  if (page.policy) parts.push(el("h2", {}, "States and outcomes"), printOutcomes());
  else if (steps.length) parts.push(el("h2", {}, "Steps"), printSteps());
  if (page.candidates) parts.push(...page.candidates.flatMap((each) => [el("h2", {}, each.title), el("ol", {}, (each.steps || []).map((step, place) => el("li", {}, `${place + 1}. `, name(step.text))))]));
  if (page.run) parts.push(el("h2", {}, "Events"), printTable(["Time", "Who", "What"], runEvents.map((event) => [duration(event.time || 0).replace(" ", "\u00a0"), event.who || "", event.text])));
  if (page.domain && page.kind === "domain") parts.push(el("h2", {}, "Declarations"), printTable(["Name", "What"], domainItems.map((item) => [item.signature, listOf("sections", item).map((section) => `${section.title}: ${section.lines.join(", ")}`).join("; ")])));
  printed.replaceChildren(...parts);
}

const printTable = (heads, rows) => el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", {}, head)))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, name(cell)))))));

function printSteps() {
  const timed = page.chart && page.chart.unit === "seconds";
  const reason = (number) => {
    const link = purposes.get(number);
    return link ? `${texts[link[2]]} for ${link[1] === goalNumber ? "the goal" : link[1]}` : "";
  };
  return printTable(["", "Step", ...(timed ? ["Start", "End"] : []), "Cost", page.run ? "Status" : "Why"], steps.map((step, place) => [
    String(place + 1), stepText(place + 1), ...(timed ? [whenText(page.chart.starts[place]), whenText(page.chart.ends[place])] : []),
    step.cost === undefined || step.cost === null ? "" : String(step.cost), page.run ? step.status || "" : reason(place + 1)]));
}

function printSearch() {
  const points = listOf("points", page.search);
  const lanes = listOf("lanes", page.search).filter((lane) => listOf("begins", lane).length);
  return el("div", {}, el("p", {}, searchStory(points)), plotLegend(points, lanes), new SearchPlot(points, lanes, 660, el("p")).drawing);
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
