// Curves over time, by uPlot.

import { el, figure } from "./dom.js";

const DASHES = [[], [6, 4], [2, 3]];

export class Chart {
  // `lines`: [{ label, colour (name of a CSS variable), of (a point to a number) }]
  constructor(title, lines, { isShare = false } = {}) {
    this.lines = lines;
    this.title = title;
    this.isShare = isShare;
    this.place = el("div", { role: "img", "aria-label": title });
    this.element = el("div", { class: "chart" }, el("h3", {}, title), this.place);
    this.plot = null;
    this.data = [[], ...lines.map(() => [])];
    new ResizeObserver(() => this.resize()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.make());
  }

  show(points) {
    this.data = [points.map((point) => point.time), ...this.lines.map((line) => points.map((point) => line.of(point) ?? null))];
    const last = points[points.length - 1];
    const now = last ? this.lines.map((line) => `${line.label} ${figure(line.of(last) ?? null)}`).join(", ") : "nothing yet";
    this.place.setAttribute("aria-label", `${this.title}, now: ${now}`);
    if (this.plot && this.made >= 3) this.plot.setData(this.data); else this.make();
  }

  resize() {
    const width = this.element.clientWidth - 16;
    if (width <= 0) return;
    if (this.plot) this.plot.setSize({ width, height: 190 }); else this.make();
  }

  make() {
    if (this.plot) this.plot.destroy();
    this.plot = null;
    const width = this.element.clientWidth - 16;
    if (width <= 0) return;
    this.made = this.data[0].length; // points have marks while they are few
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") }, font: "12px system-ui" };
    const shown = (value) => (value === null || value === undefined ? "–" : this.isShare ? `${Number((100 * value).toFixed(1))} %` : figure(value));
    this.plot = new uPlot({
      width, height: 190,
      cursor: { points: { size: 6 } },
      scales: { x: { range: (plot, low, high) => span(low, high) }, y: { range: (plot, low, high) => range(low, high) } },
      axes: [axis, { ...axis, size: 68, values: (plot, ticks) => ticks.map(shown) }],
      series: [{}, ...this.lines.map((line, place) => ({
        label: line.label, stroke: colour(line.colour), width: place ? 1.3 : 2, dash: DASHES[place] || [], value: (plot, value) => shown(value), points: { show: this.data[0].length < 3, size: 7 },
      }))],
    }, this.data, this.place);
  }
}

// At least half a minute, so that the first points have times beside them.
function span(low, high) {
  if (low === null || high === null) return [Date.now() / 1000 - 30, Date.now() / 1000];
  return high - low < 30 ? [high - 30, high] : [low, high];
}

function range(low, high) {
  if (low === null || high === null) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low >= 0 && low < room * 4 ? 0 : low - room, high + room];
}
