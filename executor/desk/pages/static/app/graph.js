// A layered graph that reads like lines of text: layers follow from left to right until the line is full, then go on in
// the next line. Only the lines that are seen are drawn.

const measure = (() => {
  const context = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.documentElement).getPropertyValue("--sans");
  const known = new Map();
  return (text, font) => {
    const key = font + text;
    if (!known.has(key)) {
      context.font = `${font} ${family}`;
      known.set(key, context.measureText(text).width);
    }
    return known.get(key);
  };
})();

const NODE = { height: 44, gap: 16, widest: 200, between: 44, margin: 34, line: 42, far: 3 };
// Marks of Unicode that keep a name to its own direction of writing inside SVG, where bdi does not exist.
const isolate = (text) => `\u2068${plain(text)}\u2069`;

function fitText(text, width, font) {
  if (measure(text, font) <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, middle)}…`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

class GraphView {
  constructor(graph, options = {}) {
    this.options = options;
    this.scale = 1;
    this.drawing = svg("svg", { class: "graph", role: "group", "aria-label": options.label || "Graph" });
    this.scroll = el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": options.label || "Graph" }, this.drawing);
    this.element = el("div", { class: "stage-part", style: "display:contents" }, this.toolbar(), this.scroll);
    this.setGraph(graph);
    this.scroll.addEventListener("scroll", () => this.draw(), { passive: true });
    this.scroll.addEventListener("keydown", (event) => this.onKey(event));
    this.drawing.addEventListener("focusin", (event) => { this.focused = this.placeOf(event.target); });
    this.drawing.addEventListener("focusout", (event) => { if (event.relatedTarget) this.focused = -1; });
    this.focused = -1; // the node that has the focus, or had it when it went out of sight
    new ResizeObserver(() => this.arrange()).observe(this.scroll);
  }

  setGraph(graph) {
    this.nodes = listOf("nodes", graph);
    this.edges = listOf("edges", graph);
    this.sizes = this.nodes.map((node) => this.sizeOf(node));
    this.arrange();
  }

  toolbar() {
    const buttons = [
      ["−", "Smaller", () => this.zoom(0.85)],
      ["+", "Larger", () => this.zoom(1 / 0.85)],
    ].map(([sign, label, action]) => el("button", { class: "tool", type: "button", "aria-label": label, onclick: action }, sign));
    this.legend = el("span", { class: "legends" });
    return el("div", { class: "toolbar" }, this.legend, el("span", { class: "tools" }, buttons));
  }

  fillLegend() {
    renew(this.legend, [this.options.legend ? this.options.legend(this) : ""]);
  }

  sizeOf(node) {
    const number = this.options.numbered && !isEnd(node) ? measure(String(node.ref), "11px") + 8 : 0;
    const first = number + measure(node.label, "600 13px");
    const second = measure(node.detail || "", "12px");
    return { number, width: Math.min(NODE.widest, Math.max(64, Math.max(first, second) + 24)) };
  }

  zoom(factor) {
    this.isZoomed = true;
    this.scale = Math.min(1.8, Math.max(0.35, this.scale * factor));
    this.arrange();
  }

  // Breaks the layers into lines, and gives nodes their places.
  arrange(room = this.scroll.clientWidth) {
    if (!room) return;
    const { labelled, whole, between = NODE.between } = this.options;
    const width = whole ? room : room / this.scale;
    const isNarrow = width < 560;
    // Loops and their labels stand above nodes, the labels of edges from other lines beside them.
    this.margin = (isNarrow ? 24 : NODE.margin) + (labelled ? 22 : 0);
    this.gap = isNarrow ? (labelled ? 58 : 28) : between;
    this.rowGap = labelled ? 34 : NODE.gap;
    this.lineGap = labelled ? 84 : NODE.line;
    const layers = [];
    this.nodes.forEach((node, place) => {
      const layer = node.layer || 0;
      if (!layers[layer]) layers[layer] = { width: 0 };
      layers[layer].width = Math.max(layers[layer].width, this.sizes[place].width);
    });
    this.lines = this.breakLines(layers, width);
    this.placeNodes(layers);
    this.routes = this.edges.map((edge) => this.route(edge));
    if (this.options.labelled) this.placeLabels();
    // Many edges to the goal from other lines would cover the others: a dot at the step stands for each.
    const goesFar = (edge) => edge.kind === "goal" && this.boxes[edge.source || 0].line !== this.boxes[edge.target || 0].line;
    const isFar = this.edges.filter(goesFar).length > NODE.far ? goesFar : () => false;
    this.far = new Set(this.edges.filter(isFar).map((edge) => edge.source || 0));
    this.pairs = new Set(this.edges.filter((edge) => !isFar(edge)).map((edge) => `${edge.source || 0} ${edge.target || 0}`));
    const right = Math.max(...this.lines.map((line) => line.right), 0) + this.margin;
    const bottom = this.lines.length ? this.lines[this.lines.length - 1].bottom + this.margin : 0;
    if (whole && !this.isZoomed) this.scale = Math.min(1, Math.max(0.6, room / right));
    this.drawing.setAttribute("width", Math.ceil(right * this.scale));
    this.drawing.setAttribute("height", Math.ceil(bottom * this.scale));
    this.drawing.setAttribute("viewBox", `0 0 ${Math.ceil(right)} ${Math.ceil(bottom)}`);
    this.redraw();
  }

  breakLines(layers, width) {
    const lines = [];
    let line = null;
    let x = 0;
    layers.forEach((layer) => {
      const full = line && x + layer.width + this.margin > width && !this.options.whole;
      if (!line || full) {
        line = { spans: [], right: 0 };
        lines.push(line);
        x = this.margin;
      }
      layer.x = x;
      layer.line = lines.length - 1;
      x += layer.width + this.gap;
      line.right = Math.max(line.right, layer.x + layer.width);
    });
    this.closeRows(layers, lines);
    let y = this.options.labelled ? 40 : 22;
    for (const each of lines) {
      each.y = y;
      each.bottom = y + (each.rows - 1) * (NODE.height + this.rowGap) + NODE.height;
      y = each.bottom + this.lineGap;
    }
    return lines;
  }

  // Takes out of each line the rows in which it has neither a node nor an edge.
  closeRows(layers, lines) {
    const lineOf = (layer) => lines[layers[layer || 0].line];
    for (const node of this.nodes) lineOf(node.layer).spans.push([(node.y || 0) - 0.5, (node.y || 0) + 0.5]);
    for (const edge of this.edges) {
      const line = lineOf(this.nodes[edge.source || 0].layer);
      if (line !== lineOf(this.nodes[edge.target || 0].layer)) continue;
      for (const [, y] of edge.bends || []) line.spans.push([y - 0.22, y + 0.22]);
    }
    for (const line of lines) {
      const merged = [];
      line.rows = 0;
      for (const [from, to] of line.spans.sort((one, other) => one[0] - other[0])) {
        const last = merged[merged.length - 1];
        if (last && from <= last.to + 0.01) {
          line.rows += Math.max(0, to - last.to);
          last.to = Math.max(last.to, to);
        } else {
          merged.push({ from, to, row: line.rows });
          line.rows += to - from;
        }
      }
      line.spans = merged;
    }
  }

  // The top of a node at height `y` of a layer, in pixels.
  topOf(layer, y) {
    const line = this.lines[this.layers[layer].line];
    const span = line.spans.find((each) => y <= each.to + 0.01) || { from: y, row: 0 };
    return line.y + (span.row + y - span.from - 0.5) * (NODE.height + this.rowGap);
  }

  placeNodes(layers) {
    this.layers = layers;
    this.boxes = this.nodes.map((node, place) => {
      const layer = layers[node.layer || 0];
      const y = this.topOf(node.layer || 0, node.y || 0);
      const { width } = this.sizes[place];
      return { x: layer.x, y, width: this.options.even ? layer.width : width, line: layer.line };
    });
  }

  // The path of an edge: a curve within a line, or along the right margin and the left one to a later line.
  route(edge) {
    const from = this.boxes[edge.source || 0];
    const to = this.boxes[edge.target || 0];
    const start = [from.x + from.width, from.y + NODE.height / 2];
    const end = [to.x - 3, to.y + NODE.height / 2];
    if (edge.kind === "back" && from === to) return routeAround(from);
    if (from.line !== to.line || edge.kind === "back") return this.routeAcross(edge, start, end, from.line, to.line);
    const middle = (edge.bends || []).map(([layer, y]) => {
      const at = this.layers[layer];
      const height = this.topOf(layer, y) + NODE.height / 2;
      return [[at.x, height], [at.x + at.width, height]];
    });
    const source = this.layers[this.nodes[edge.source || 0].layer || 0];
    const points = [start, [source.x + source.width, start[1]], ...middle.flat(), end];
    let path = `M${start[0]} ${start[1]}`;
    for (let place = 1; place < points.length; place += 1) {
      const [x0, y0] = points[place - 1];
      const [x1, y1] = points[place];
      const pull = (x1 - x0) / 2;
      path += y0 === y1 ? `L${x1} ${y1}` : `C${x0 + pull} ${y0} ${x1 - pull} ${y1} ${x1} ${y1}`;
    }
    return { path, top: Math.min(...points.map((each) => each[1])), bottom: Math.max(...points.map((each) => each[1])) };
  }

  // Down in the gap behind the source's layer, along the gutter between lines, and down in the gap before the target's.
  // Edges of one source share a track of the gutter, and lines in between are passed at the left margin.
  routeAcross(edge, start, end, first, last) {
    const source = this.layers[this.nodes[edge.source || 0].layer || 0];
    const track = ((((edge.source || 0) * 3) % 7) - 3) * 3;
    const down = source.x + source.width + this.gap / 3 + track / 3;
    const into = Math.max(end[0] - this.gap / 2, 12) + track / 3;
    const below = this.lines[first].bottom + NODE.line / 2 + track;
    let entry = below;
    const points = [start, [down, start[1]], [down, below]];
    if (last > first + 1 || last < first) {
      entry = this.lines[last].y - (this.lineGap - NODE.line / 2) + track;
      points.push([10 + track / 3, below], [10 + track / 3, entry], [into, entry]);
    } else points.push([into, below]);
    points.push([into, end[1]], end);
    const heights = points.map(([, y]) => y);
    return { path: roundedPath(points), top: Math.min(...heights), bottom: Math.max(...heights), into: [into, (entry + end[1]) / 2] };
  }

  // Where the words of each edge stand: within a line near the end that has fewer other edges; else where it comes into
  // its target's line, those of one target above each other.
  placeLabels() {
    const count = (part) => this.edges.reduce((found, edge) => found.set(edge[part] || 0, (found.get(edge[part] || 0) || 0) + 1), new Map());
    const [leaving, coming, above] = [count("source"), count("target"), new Map()];
    this.edges.forEach((edge, place) => {
      const [from, to, route] = [this.boxes[edge.source || 0], this.boxes[edge.target || 0], this.routes[place]];
      if (from === to) route.label = { x: from.x + from.width - 23, y: from.y - 20, "text-anchor": "middle" };
      else if (from.line !== to.line || edge.kind === "back") {
        const before = above.get(edge.target || 0) || 0;
        above.set(edge.target || 0, before + 1);
        const [x, y] = route.into;
        route.label = { x: Math.max(22, x), y: y + 4 - before * 14, "text-anchor": "middle" };
      } else {
        const path = svg("path", { d: route.path });
        const length = path.getTotalLength();
        const few = leaving.get(edge.source || 0) >= coming.get(edge.target || 0);
        const { x, y } = path.getPointAtLength(few ? length - Math.min(length / 2, this.gap * 0.45) : Math.min(length / 2, this.gap * 0.4));
        route.label = { x, y: y + 4, "text-anchor": "middle" };
      }
    });
  }

  redraw() {
    this.drawn = "";
    this.wires = new Map();
    this.shapes = new Map();
    this.labels = new Map();
    this.layersOfDrawing = { wires: svg("g"), extra: svg("g"), nodes: svg("g"), labels: svg("g", { "aria-hidden": "true" }) };
    const { wires, extra, nodes, labels } = this.layersOfDrawing;
    this.drawing.replaceChildren(wires, extra, nodes, labels);
    this.draw();
    this.fillLegend();
  }

  // Draws what has come into sight, with half a screen more above and below, and drops what is out of it.
  draw() {
    if (!this.lines) return;
    const view = this.scroll.clientHeight || 600;
    const top = (this.scroll.scrollTop - view / 2) / this.scale;
    const bottom = (this.scroll.scrollTop + 1.5 * view) / this.scale;
    const key = Math.floor(top / 120);
    if (key === this.drawn) return;
    this.drawn = key;
    this.range = [top, bottom];
    const { wires, extra, nodes, labels } = this.layersOfDrawing;
    this.edges.forEach((edge, place) => {
      const route = this.routes[place];
      const isDrawn = edge.kind !== "goal" || !this.far.has(edge.source || 0);
      if (this.options.labelled) this.keep(this.labels, place, route.bottom >= top && route.top <= bottom, labels, () => drawLabel(edge, route));
      this.keep(this.wires, place, isDrawn && route.bottom >= top && route.top <= bottom, wires, () => this.drawEdge(edge, route));
    });
    this.nodes.forEach((node, place) => {
      const box = this.boxes[place];
      this.keep(this.shapes, place, box.y + NODE.height >= top && box.y <= bottom, nodes, () => this.drawNode(node, place, box));
    });
    extra.replaceChildren(...this.drawExtra(top, bottom));
    this.markEntry();
  }

  placeOf(element) {
    const node = element.closest("[data-node]");
    return node ? Number(node.getAttribute("data-node")) : -1;
  }

  // One node can be reached by Tab: the chosen one, or else the first that is drawn.
  markEntry() {
    const isChosen = (place) => /\bchosen\b/.test(this.relation(place));
    const places = [...this.shapes.keys()];
    const entry = places.find(isChosen) ?? Math.min(...places);
    for (const [place, shape] of this.shapes) {
      const stop = place === entry ? "0" : "-1";
      if (shape.getAttribute("tabindex") !== stop) shape.setAttribute("tabindex", stop);
      if (isChosen(place)) shape.setAttribute("aria-current", "true");
      else shape.removeAttribute("aria-current");
    }
  }

  // Lets the focus go with the choice, if a node has it.
  refocus(place) {
    const at = document.activeElement;
    if (this.focused < 0 || this.focused === place || !(at === document.body || this.drawing.contains(at))) return;
    this.draw();
    const shape = this.shapes.get(place);
    if (shape) shape.focus({ preventScroll: true });
  }

  keep(drawn, place, isSeen, layer, make) {
    if (isSeen === drawn.has(place)) return;
    if (isSeen) drawn.set(place, layer.appendChild(make()));
    else {
      drawn.get(place).remove();
      drawn.delete(place);
    }
  }

  // Marks what is drawn anew after another choice, without drawing it again.
  mark() {
    if (!this.shapes) return;
    for (const [place, wire] of this.wires) {
      const [kind, head] = this.wireMarks(this.edges[place]);
      if (wire.getAttribute("class") === kind) continue;
      wire.setAttribute("class", kind);
      wire.setAttribute("marker-end", head);
    }
    for (const [place, shape] of this.shapes) {
      const kind = this.nodeMarks(place);
      if (shape.getAttribute("class") !== kind) shape.setAttribute("class", kind);
    }
    this.layersOfDrawing.extra.replaceChildren(...this.drawExtra(...this.range));
    this.markEntry();
    this.fillLegend();
  }

  nodeMarks(place) {
    return `node ${this.nodes[place].kind || "step"} ${this.relation(place)}`;
  }

  wireMarks(edge) {
    const source = this.nodes[edge.source || 0];
    const target = this.nodes[edge.target || 0];
    const marked = this.options.markEdge ? this.options.markEdge(source, target, edge) : "";
    return [`wire ${edge.kind || "link"} ${marked}`, markerOf(marked, edge)];
  }

  relation(place) {
    const { mark } = this.options;
    return mark ? mark(this.nodes[place], place) : "";
  }

  drawEdge(edge, route) {
    const [kind, head] = this.wireMarks(edge);
    const wire = svg("path", { class: kind, d: route.path, "marker-end": head });
    if (edge.label) wire.append(svg("title", {}, edge.label));
    return wire;
  }

  // Causal links of the chosen step that the drawn order does not show.
  drawExtra(top, bottom) {
    const pairs = this.options.extra ? this.options.extra() : [];
    return pairs
      .filter(([source, target]) => !this.pairs.has(`${source} ${target}`) && this.boxes[source] && this.boxes[target])
      .map(([source, target, marked]) => [this.route({ source, target }), marked])
      .filter(([route]) => route.bottom >= top && route.top <= bottom)
      .map(([route, marked]) => svg("path", { class: `wire ${marked}`, d: route.path, "marker-end": markerOf(marked, {}) }));
  }

  drawNode(node, place, box) {
    const size = this.sizes[place];
    const inner = box.width - 24;
    const detail = node.detail ? fitText(node.detail, inner, "12px") : "";
    const label = fitText(node.label, inner - size.number, "600 13px");
    const isNumbered = this.options.numbered && !isEnd(node);
    const isPill = isEnd(node) || node.kind === "predicate";
    const y = detail ? 18 : 27;
    const group = svg("g", {
      class: this.nodeMarks(place),
      transform: `translate(${box.x} ${box.y})`,
      role: "button",
      "aria-label": plain(this.describeNode(node, place)),
      "data-node": place,
      tabindex: "-1",
      onclick: () => this.options.pick(node, place),
    });
    group.append(svg("rect", { width: box.width, height: NODE.height, rx: isPill ? 22 : 8 }));
    if (size.number) group.append(svg("text", { class: "n", x: 12, y }, String(node.ref)));
    group.append(svg("text", { class: "a", ...(isPill ? { x: box.width / 2, "text-anchor": "middle" } : { x: 12 + size.number }), y }, isolate(label)));
    if (detail) group.append(svg("text", { class: "b", x: 12, y: 34 }, isolate(detail)));
    if (this.servesGoal(node, place)) group.append(svg("circle", { class: "serves", cx: box.width, cy: NODE.height / 2, r: 4.5 }));
    group.append(svg("title", {}, `${node.label} ${node.detail || ""}`));
    return group;
  }

  // What is seen of a node, in words.
  describeNode(node, place) {
    const isNumbered = this.options.numbered && !isEnd(node);
    const step = isNumbered ? stepOf(node.ref) : null;
    return [
      `${isNumbered ? `${page.policy ? "State" : "Step"} ${node.ref}: ` : ""}${node.label}${node.detail ? ` ${node.detail}` : ""}`,
      step && step.status,
      step && step.redundant ? "can be left out" : "",
      node.kind === "predicate" ? "fact" : "",
      this.servesGoal(node, place) ? "gives what the goal needs" : "",
    ].filter(Boolean).join(", ");
  }

  // Whether a dot stands for an edge to the goal that is not drawn.
  servesGoal(node, place) {
    const { serving } = this.options;
    return this.far.has(place) || Boolean(serving && serving.has(node.ref) && !this.pairs.has(`${place} ${goalNumber - 1}`));
  }

  reveal(place) {
    const box = this.boxes && this.boxes[place];
    if (!box) return;
    const top = box.y * this.scale;
    const seen = this.scroll.clientHeight - coveredBySheet(this.scroll);
    if (top < this.scroll.scrollTop + 30 || top + NODE.height * this.scale > this.scroll.scrollTop + seen - 30) {
      this.scroll.scrollTop = top - seen / 3;
    }
    this.refocus(place);
    const left = box.x * this.scale;
    if (left < this.scroll.scrollLeft || left + box.width * this.scale > this.scroll.scrollLeft + this.scroll.clientWidth) {
      this.scroll.scrollLeft = left - this.scroll.clientWidth / 3;
    }
  }

  onKey(event) {
    const place = this.placeOf(event.target);
    const isToChoose = place >= 0 && (event.key === " " || (event.key === "Enter" && event.target.getAttribute("aria-current") !== "true"));
    if (isToChoose) {
      this.options.pick(this.nodes[place], place);
      event.stopPropagation();
    } else if (event.key === "+" || event.key === "=") this.zoom(1 / 0.85);
    else if (event.key === "-") this.zoom(0.85);
    else if (event.key === "0") this.zoom(1 / this.scale);
    else return;
    event.preventDefault();
  }
}

// The goal, or another end of a policy.
const isEnd = (node) => node.kind === "goal" || node.kind === "end";

// From a node to itself, above its right end.
function routeAround(box) {
  const right = box.x + box.width;
  return { path: `M${right - 34} ${box.y}C${right - 38} ${box.y - 24} ${right - 6} ${box.y - 24} ${right - 13} ${box.y - 3}`, top: box.y - 20, bottom: box.y };
}

const drawLabel = (edge, route) => svg("text", { class: "wire-label", ...route.label }, edge.label || "");

// A path along horizontal and vertical lines with round corners.
function roundedPath(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let place = 1; place < points.length - 1; place += 1) {
    const [before, at, after] = points.slice(place - 1, place + 2);
    const reach = (other) => Math.min(8, Math.hypot(other[0] - at[0], other[1] - at[1]) / 2);
    const toward = (other) => {
      const length = Math.hypot(other[0] - at[0], other[1] - at[1]) || 1;
      return [at[0] + ((other[0] - at[0]) * reach(other)) / length, at[1] + ((other[1] - at[1]) * reach(other)) / length];
    };
    path += `L${toward(before).join(" ")}Q${at.join(" ")} ${toward(after).join(" ")}`;
  }
  const last = points[points.length - 1];
  return `${path}L${last[0]} ${last[1]}`;
}

const markerOf = (marked, edge) => `url(#head-${["need", "give"].includes(marked) ? marked : edge.kind === "threat" ? "threat" : "plain"})`;

// The heads of arrows stand outside all drawings, so that the printed copy of one finds them, too.
function arrowHeads() {
  const colours = { plain: "var(--edge)", need: "var(--accent)", give: "var(--good)", threat: "var(--warn)" };
  const heads = svg(
    "defs",
    {},
    Object.entries(colours).map(([kind, colour]) =>
      svg(
        "marker",
        { id: `head-${kind}`, viewBox: "0 0 8 8", refX: 6.5, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
        svg("path", { d: "M0.5 0.8 7 4 0.5 7.2z", style: `fill:${colour}` })
      )
    )
  );
  return svg("svg", { width: 0, height: 0, style: "position:absolute", "aria-hidden": "true" }, heads);
}

function legendLine(kind, text, more = "") {
  const line = svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, svg("path", { class: `wire ${kind}`, d: "M1 5H25" }));
  return el("span", { class: `legend ${more}` }, line, text);
}

// What the graph leaves out because steps and links say it, too.
function completeGraph(graph) {
  for (const node of listOf("nodes", graph)) {
    const step = (node.kind || "step") === "step" ? stepOf(node.ref) : null;
    if (step) Object.assign(node, { label: step.action, detail: argumentsOf(step) });
  }
  for (const edge of listOf("edges", graph)) {
    if ((edge.kind || "link") !== "link") continue;
    const found = (needsOf.get((edge.target || 0) + 1) || []).filter(([provider]) => provider === (edge.source || 0) + 1);
    edge.label = found.map(([, , fact]) => texts[fact]).join(", ");
  }
}

// The order of the steps of a plan or run.
function stepGraph() {
  completeGraph(page.graph);
  const kinds = new Set(listOf("edges", page.graph).map((edge) => edge.kind || "link"));
  // Of a chosen step what it needs and gives, else what the lines mean: one line, so that nothing moves at a choice.
  const legend = (view) => {
    if (page.kind === "run") return [];
    const found = new Set([...related].flatMap(([ref, kind]) => (ref ? [kind] : [])));
    const hide = chosen.step ? "hide-narrow" : "";
    return [
      !chosen.step && kinds.has("link") ? legendLine("link", "gives what is needed") : null,
      found.has("need") ? legendLine("need", "what it needs") : null,
      found.has("give") ? legendLine("give", "what it gives") : null,
      kinds.has("threat") ? legendLine("threat", "would undo it", hide) : null,
      kinds.has("item") ? legendLine("item", "same item", "hide-narrow") : null,
      view.nodes.some((node, place) => view.servesGoal(node, place)) ? el("span", { class: "legend hide-narrow" }, el("i", { class: "serves-key" }), "for the goal") : null,
    ];
  };
  const relations = () => {
    const found = new Map();
    if (!chosen.step) return found;
    for (const [provider] of needsOf.get(chosen.step) || []) found.set(provider, "need");
    for (const [, consumer] of givesOf.get(chosen.step) || []) found.set(consumer, "give");
    return found;
  };
  let related = relations();
  const view = new GraphView(page.graph, {
    label: "The steps in their order",
    numbered: true,
    serving: new Set((needsOf.get(goalNumber) || []).map(([provider]) => provider)),
    legend,
    pick: (node) => choose({ step: node.ref }),
    mark: (node) => {
      const step = stepOf(node.ref);
      const state = step ? (step.redundant ? "redundant " : "") + (toneOf(step) ? `s-${toneOf(step)} ` : "") : "";
      if (node.ref === chosen.step) return `${state}chosen`;
      if (chosen.filter && step && !isStepShown(node.ref)) return `${state}dim`;
      return state + (related.get(node.ref) || "");
    },
    markEdge: (source, target) => {
      if (!chosen.step) return "";
      if (target.ref === chosen.step && related.get(source.ref) === "need") return "need";
      if (source.ref === chosen.step && related.get(target.ref) === "give") return "give";
      return "dim";
    },
    extra: () => {
      if (!chosen.step) return [];
      const at = chosen.step - 1;
      const needs = (needsOf.get(chosen.step) || []).filter(([provider]) => provider > 0).map(([provider]) => [provider - 1, at, "need"]);
      const gives = (givesOf.get(chosen.step) || []).filter(([, consumer]) => consumer > chosen.step).map(([, consumer]) => [at, consumer - 1, "give"]);
      const seen = new Set();
      return [...needs, ...gives].filter((pair) => !seen.has(pair.join()) && seen.add(pair.join()));
    },
  });
  view.update = () => {
    completeGraph(page.graph);
    if (JSON.stringify([view.nodes, view.edges]) !== JSON.stringify([listOf("nodes", page.graph), listOf("edges", page.graph)])) view.setGraph(page.graph);
    view.mark();
  };
  view.follow = (before) => {
    related = relations();
    view.mark();
    if (chosen.step && before.step !== chosen.step) view.reveal(chosen.step - 1);
  };
  return view;
}

// Who provides what for whom in a domain.
function providerGraph(domain) {
  const nodes = listOf("nodes", domain.graph);
  const edges = listOf("edges", domain.graph);
  const near = () => {
    const found = new Map();
    if (!chosen.item) return found;
    const own = new Set(nodes.flatMap((node, place) => (node.ref === chosen.item ? [place] : [])));
    for (const edge of edges) {
      const source = edge.source || 0;
      const target = edge.target || 0;
      if (own.has(source)) found.set(target, "give");
      if (own.has(target)) found.set(source, "need");
    }
    for (const place of own) found.set(place, "chosen");
    return found;
  };
  let related = near();
  const view = new GraphView(domain.graph, {
    label: "Who provides what for whom",
    whole: true,
    even: true,
    between: 90,
    legend: () => el("span", {}, "Actions that provide a fact · the fact · actions that require it"),
    pick: (node) => choose({ item: node.ref }),
    mark: (node, place) => {
      if (related.size) return related.get(place) || "dim";
      return chosen.filter && !matches(node.label) ? "dim" : "";
    },
    markEdge: (source, target) => {
      if (!related.size) return "";
      if (source.ref === chosen.item) return "give";
      return target.ref === chosen.item ? "need" : "dim";
    },
  });
  view.follow = () => {
    related = near();
    view.mark();
    const place = nodes.findIndex((node) => node.ref === chosen.item);
    if (place >= 0) view.reveal(place);
  };
  return view;
}
