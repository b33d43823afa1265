// Graphs in the places that the service computed; of networks with a monitor for each variable.

import { percent, svg, visible } from "./dom.js";

const ROW = 15, HEAD = 24, PADDING = 9, LABEL = 96, NUMBER = 42, MARGIN = 10;

export class Graph {
  // `choose(variable, value)` is called when a bar is clicked; null for a graph without monitors.
  constructor(graph, choose = null) {
    this.rows = new Map();
    this.nodes = new Map();
    const title = `A graph of ${graph.nodes.length} variables and ${graph.edges.length} edges`;
    const box = `${-MARGIN} ${-MARGIN} ${graph.width + 2 * MARGIN} ${graph.height + 2 * MARGIN}`;
    this.element = svg("svg", { viewBox: box, width: graph.width + 2 * MARGIN, height: graph.height + 2 * MARGIN, role: choose ? "group" : "img", "aria-label": title });
    for (const edge of graph.edges) {
      this.element.append(svg("path", { class: "edge", d: edge.path }, svg("title", {}, `${edge.parent} → ${edge.child}`)), arrow(edge.path));
    }
    for (const node of graph.nodes) this.element.append(this.draw(node, choose));
  }

  draw(node, choose) {
    const group = svg("g", { class: "node", transform: `translate(${node.x} ${node.y})` },
      svg("rect", { width: node.width, height: node.height, rx: 5 }, svg("title", {}, node.name)));
    const middle = node.rows.length ? HEAD / 2 + 4.5 : node.height / 2 + 4.5;
    group.append(svg("text", { x: node.width / 2, y: middle, "font-size": 12, "font-weight": 700, "text-anchor": "middle" }, cut(node.name, node.width - 14, 7.9)));
    this.nodes.set(node.name, group);
    const rows = new Map();
    const left = PADDING + Math.min(LABEL, Math.max(...node.rows.map((row) => row.label.length * 7.1), 0)) + 8;
    const room = node.width - PADDING - NUMBER + 4 - left;
    node.rows.forEach(({ label, value }, place) => {
      const isRest = value === null, y = HEAD + ROW * place; // the rest: all further values together
      const full = svg("rect", { class: "full", x: left, y: y + 3, width: 0, height: ROW - 6 });
      const range = svg("rect", { class: "range", x: left, y: y + ROW / 2 - 0.6, width: 0, height: 1.2 });
      const number = svg("text", { x: node.width - PADDING + 3, y: y + ROW - 4, "font-size": 10, "text-anchor": "end" });
      const row = svg("g", choose && !isRest ? { class: "belief", role: "button", tabindex: 0, "aria-pressed": "false" } : { class: "belief" },
        svg("rect", { class: "frame", x: 3, y, width: node.width - 6, height: ROW, rx: 2 }),
        svg("text", { x: PADDING, y: y + ROW - 4, "font-size": 10 }, cut(label, left - PADDING - 3, 6.2)),
        svg("rect", { class: "empty", x: left, y: y + 3, width: room, height: ROW - 6 }), full, range, number);
      if (choose && !isRest) {
        row.addEventListener("click", () => choose(node.name, value));
        row.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(node.name, value); }
        });
      }
      group.append(row);
      rows.set(value, { row, full, range, number, left, room });
    });
    this.rows.set(node.name, rows);
    return group;
  }

  // Show posteriors: { variable: { probabilities: { value: p }, intervals } }, and which values are evidence.
  show(posteriors, evidence) {
    for (const [name, rows] of this.rows) {
      const found = posteriors[name];
      this.nodes.get(name).classList.toggle("observed", evidence.has(name));
      if (!found) continue;
      const p = found.probabilities;
      for (const [value, each] of rows) {
        const isRest = value === null;
        const share = isRest ? Object.keys(p).filter((other) => !rows.has(other)).reduce((sum, other) => sum + p[other], 0) : p[value] || 0;
        each.full.setAttribute("width", each.room * share);
        each.number.textContent = (100 * share).toFixed(share > 0 && share < 0.01 ? 2 : 1);
        const interval = isRest || !found.intervals ? null : found.intervals[value];
        each.range.setAttribute("x", each.left + each.room * (interval ? interval[0] : 0));
        each.range.setAttribute("width", interval ? each.room * (interval[1] - interval[0]) : 0);
        if (isRest) continue;
        const text = interval ? `, ${percent(interval[0])} to ${percent(interval[1])}` : "";
        each.row.setAttribute("aria-label", visible(`${name} is ${value}: ${percent(share)}${text}`));
        each.row.setAttribute("aria-pressed", String(evidence.get(name) === value));
      }
    }
  }
}

function cut(text, width, letter) {
  const most = Math.max(2, Math.floor(width / letter));
  const shown = visible(text);
  return shown.length <= most + 1 ? shown : shown.slice(0, most) + "…";
}

function arrow(path) {
  const numbers = path.match(/-?[\d.]+/g).map(Number);
  const [x, y] = numbers.slice(-2);
  return svg("polygon", { class: "arrow", points: `${x},${y} ${x - 3.4},${y - 8} ${x + 3.4},${y - 8}` });
}
