// Curves over time, by uPlot, with the values beside their names: those of now, or those under the pointer.

import { el, figure } from "./dom.js";
import { range } from "./range.js";

const DASHES = [[], [6, 4], [2, 3]];
const HEIGHT = 180;
const LETTER = 7.4, GAP = 14; // of the texts beside an axis
const CLOCK = 60; // the width of a time
const LEAST_DRAG = 4; // pixels; less is a click

export class Chart {
  // `lines`: [{ label, colour (name of a CSS variable), of (a point to a number), isRight (of an axis of its own), text (a
  // number with its unit) }]
  // `hasOwnTime`: its points are at the times of events, which are not those of the other charts.
  constructor(title, lines, { isShare = false, hasOwnTime = false } = {}) {
    this.hasOwnTime = hasOwnTime;
    if (!hasOwnTime) range.charts.add(this);
    this.lines = lines;
    this.title = title;
    this.isShare = isShare;
    this.place = el("div", { role: "img", "aria-label": title });
    this.values = lines.map(() => el("span", { class: "value" }));
    this.moment = el("span", { class: "soft" });
    const legend = lines.map((line, place) => el("span", {}, swatch(line.colour, place), ` ${line.label} `, this.values[place]));
    this.element = el("div", { class: "chart" }, el("h3", {}, title), el("p", { class: "legend" }, legend, this.moment), this.place);
    this.plot = null;
    this.data = [[], ...lines.map(() => [])];
    this.label(null);
    new ResizeObserver(() => this.resize()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.make());
  }

  show(points) {
    this.data = [points.map((point) => point.time), ...this.lines.map((line) => points.map((point) => line.of(point) ?? null))];
    const last = points.length - 1;
    const now = last < 0 ? "nothing yet" : this.lines.map((line, place) => `${line.label} ${this.text(this.data[place + 1][last], line)}`).join(", ");
    this.place.setAttribute("aria-label", `${this.title}, now: ${now}`);
    if (this.plot && this.made >= 3) this.plot.setData(this.data); else this.make();
    this.label(this.plot ? this.plot.cursor.idx : null);
  }

  redraw() {
    if (this.plot) this.plot.setData(this.data);
  }

  // The values at a point; of the newest one if there is none under the pointer.
  label(place) {
    const times = this.data[0], at = place ?? times.length - 1;
    this.values.forEach((value, line) => { value.textContent = this.text(this.data[line + 1][at], this.lines[line]); });
    this.moment.textContent = place === null || place === undefined || !times[at] ? "" : new Date(1000 * times[at]).toLocaleTimeString();
  }

  text(value, line) {
    if (value === null || value === undefined) return "–";
    if (line.text) return line.text(value);
    return this.isShare ? `${(100 * value).toFixed(1)}\u00a0%` : figure(value);
  }

  resize() {
    const width = this.element.clientWidth - 16;
    if (width <= 0) return;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT }); else this.make();
  }

  make() {
    if (this.plot) this.plot.destroy();
    this.plot = null;
    const width = this.element.clientWidth - 16;
    if (width <= 0) return;
    this.made = this.data[0].length; // points have marks while they are few
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), size: 5 }, font: "12px system-ui" };
    const values = (plot, ticks) => ticks.map((tick) => (this.isShare ? `${decimals(100 * tick, 100 * (ticks[1] - ticks[0]))} %` : decimals(tick, ticks[1] - ticks[0])));
    const scales = { x: { range: () => this.span() }, y: { range: (plot, low, high) => heights(low, high, this.isShare) } };
    const axes = [{ ...axis, space: 76, size: 32, values: (plot, ticks) => clock(ticks) }, { ...axis, size: wide, values }];
    if (this.lines.some((line) => line.isRight)) {
      scales.right = { range: (plot, low, high) => heights(low, high, false) };
      axes.push({ ...axis, size: wide, values, scale: "right", side: 1, grid: { show: false } });
    }
    const rightMost = axes.length > 2 ? 8 : CLOCK / 2; // half of the last time stands right of its tick
    this.plot = new uPlot({
      width, height: HEIGHT, scales, axes,
      padding: [8, rightMost, 0, 0],
      legend: { show: false },
      cursor: { points: { size: 6 }, drag: { x: !this.hasOwnTime, y: false, setScale: false }, ...(this.hasOwnTime ? {} : { sync: { key: "time" } }) },
      hooks: { setCursor: [(plot) => this.label(plot.cursor.idx)], setSelect: [(plot) => this.zoom(plot)] },
      series: [{}, ...this.lines.map((line, place) => ({
        label: line.label, stroke: colour(line.colour), width: place ? 1.3 : 2, dash: DASHES[place] || [], scale: line.isRight ? "right" : "y",
        points: { show: this.data[0].length < 3, size: 7 },
      }))],
    }, this.data, this.place);
  }

  span() {
    const times = this.data[0];
    const span = this.hasOwnTime && times.length > 1 ? [times[0], times[times.length - 1]] : range.spanOf(times);
    this.element.dataset.span = span.map((end) => end.toFixed(3)).join(" ");
    return span;
  }

  // All charts show the part that was dragged in this one.
  zoom(plot) {
    const { left, width } = plot.select;
    if (width < LEAST_DRAG) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    range.zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }
}

function swatch(colour, place) {
  const line = el("i", { class: "swatch", "aria-hidden": "true" });
  line.style.borderTopColor = `var(--${colour})`;
  line.style.borderTopStyle = ["solid", "dashed", "dotted"][place] || "solid";
  return line;
}

// As many decimals as the distance of two ticks has.
function decimals(value, step) {
  let places = 0;
  while (places < 6 && Math.abs(step * 10 ** places - Math.round(step * 10 ** places)) > 1e-6) places++;
  return value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
}

function clock(ticks) {
  const options = { hour: "2-digit", minute: "2-digit", hour12: false };
  if (ticks.length > 1 && ticks[1] - ticks[0] < 60) options.second = "2-digit";
  return ticks.map((tick) => new Date(1000 * tick).toLocaleTimeString("en", options));
}

// The width of an axis: that of its longest text.
function wide(plot, texts) { return Math.max(40, GAP + LETTER * Math.max(0, ...(texts || []).map((text) => text.length))); }

function heights(low, high, isShare) {
  if (low === null || high === null || (low === 0 && high === 0)) return [0, 1];
  const room = Math.max((high - low || Math.abs(high) || 1) * 0.08, isShare ? 0.005 : 0);
  const top = isShare && high <= 1 ? Math.min(1, high + room) : high + room;
  return [low >= 0 && low < room * 4 ? 0 : low - room, top];
}
