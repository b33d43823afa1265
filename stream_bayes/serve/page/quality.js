// Quality: whether probabilities can be trusted, each label over time, and the costs of a threshold.

import { Chart } from "./chart.js";
import { el, figure, percent, replace, svg, table, throttled, visible } from "./dom.js";
import { range } from "./range.js";
import { get } from "./service.js";

const MEASURES = [["precision", "precision", "blue"], ["recall", "recall", "orange"], ["f1", "F1", "soft"]];

export class Quality {
  constructor(panel, report) {
    this.report = report;
    this.reliability = el("div");
    this.byLabel = el("div");
    this.chosen = el("select", { id: "label-over-time", onchange: () => this.drawCurve() });
    this.chart = new Chart("One label over time", MEASURES.map(([name, words, colour]) => ({
      label: words, colour, of: (point) => ((point.by_label || {})[this.chosen.value] || {})[name],
    })), { isShare: true });
    this.curve = [];
    this.labels = el("div", {}, el("h2", {}, "Each label"), this.byLabel,
      el("div", { class: "toolbar" }, el("label", { for: "label-over-time" }, "Label"), this.chosen), range.bar("range-quality"), this.chart.element);
    this.errors = new Errors();
    this.costs = new Costs(report);
    this.pit = el("div", { hidden: true });
    this.none = el("p", { class: "soft", hidden: true }, "Measures of all events are on the tab Now: there are no labels or variables to tell apart.");
    panel.append(this.none, this.pit, this.errors.element, this.reliability, this.labels, this.costs.element);
    this.refresh = throttled(() => this.load(), 3000);
  }

  async show() { await Promise.all([this.load(), this.costs.load()]); }

  async load() {
    try {
      const [answer, { curve }] = await Promise.all([get("v1/evaluation"), get("v1/evaluation/parts")]);
      const measures = (answer.measures || {}).windowed, bins = (answer.measures || {}).reliability;
      const labels = Object.entries((measures || {}).by_label || {}), errors = Object.entries((answer.status || {}).errors || {});
      const hasLabels = labels.length > 0, pit = (measures || {}).pit || [];
      this.none.hidden = hasLabels || errors.length > 0 || pit.length > 0;
      this.pit.hidden = !pit.length;
      if (pit.length) replace(this.pit, el("h2", {}, "Where labels lie in their forecasts"), el("div", { class: "columns" }, histogram(pit), pitTable(pit)));
      this.labels.hidden = this.reliability.hidden = this.costs.element.hidden = !hasLabels;
      this.errors.show(errors, curve);
      if (!hasLabels) return;
      replace(this.reliability, el("h2", {}, "Reliability"), el("div", { class: "columns" }, diagram(bins), reliabilityTable(bins)));
      replace(this.byLabel, table("Of the newest events; the most frequent labels", ["label", "events", "precision", "recall", "F1"],
        labels.map(([label, each]) => [label, Math.round(each.weight), percent(each.precision), percent(each.recall), percent(each.f1)])));
      offer(this.chosen, labels.map(([label]) => label));
      this.curve = curve;
      this.drawCurve();
    } catch (error) { this.report(error); }
  }

  drawCurve() { this.chart.show(this.curve); }
}

function offer(field, values) {
  const offered = new Set([...field.options].map((option) => option.value));
  for (const value of values) if (!offered.has(value)) field.append(el("option", { value }, value));
}

// The shares of labels in the tenths of their forecast distributions (PIT): level bars if these can be trusted.
function histogram(pit) {
  const side = 260, left = 44, most = Math.max(0.2, ...pit), up = (share) => 8 + side * (1 - share / most), width = side / pit.length;
  const drawing = svg("svg", { class: "reliability", viewBox: `0 0 ${left + side + 28} ${side + 48}`, role: "img",
    "aria-label": `Labels by tenth of their forecasts, lowest first: ${pit.map(percent).join(", ")}` });
  for (const tick of [0, most / 2, most]) {
    drawing.append(svg("line", { class: "grid", x1: left, x2: left + side, y1: up(tick), y2: up(tick) }),
      svg("text", { x: left - 6, y: up(tick) + 4, "font-size": 11, "text-anchor": "end" }, percent(tick)));
  }
  pit.forEach((share, k) => drawing.append(svg("rect", { class: "bar", x: left + k * width + 1, y: up(share), width: width - 2, height: up(0) - up(share) },
    svg("title", {}, `${tenth(k)}: ${percent(share)} of labels`))));
  drawing.append(svg("line", { class: "diagonal", x1: left, x2: left + side, y1: up(0.1), y2: up(0.1) }),
    svg("text", { x: left + side / 2, y: side + 42, "font-size": 11, "text-anchor": "middle" }, "share of the forecast below the label"));
  return el("figure", {}, drawing, el("figcaption", { class: "soft" }, "All bars on the line: forecasts can be trusted. High at both ends: they are too narrow. High in the middle: too wide. High at one end: labels lie to that side."));
}

function tenth(k) { return `${10 * k} to ${10 * k + 10} %`; }

function pitTable(pit) {
  return table("The newest events by tenth of their forecasts", ["share below the label", "share of events"], pit.map((share, k) => [tenth(k), percent(share)]));
}

// The errors of each number that a network predicts.
class Errors {
  constructor() {
    this.list = el("div");
    this.chosen = el("select", { id: "variable-over-time", onchange: () => this.chart.show(this.curve) });
    const of = (point) => (point.errors || {})[this.chosen.value] || {};
    this.chart = new Chart("Root mean squared error of one number over time", [
      { label: "model", colour: "blue", of: (point) => of(point).rmse },
      { label: "no change", colour: "orange", of: (point) => of(point).no_change_rmse },
      { label: "mean", colour: "soft", of: (point) => of(point).mean_rmse },
    ]);
    this.element = el("div", {}, el("h2", {}, "Errors of predicted numbers"), this.list,
      el("div", { class: "toolbar" }, el("label", { for: "variable-over-time" }, "Number"), this.chosen), range.bar("range-errors"), this.chart.element);
  }

  show(errors, curve) {
    this.element.hidden = !errors.length;
    if (!errors.length) return;
    replace(this.list, table("Of the newest events, older ones fading; beside the errors of the last number, and of the mean", ["number", "RMSE", "no change", "mean", "MAE", "R2", "coverage", "width"],
      errors.map(([name, each]) => [name, each.rmse, each.no_change_rmse, each.mean_rmse, each.mae, each.r2, percent(each.coverage), each.width])));
    offer(this.chosen, errors.map(([name]) => name));
    this.curve = curve;
    this.chart.show(curve);
  }
}

// The share of right predictions by their probability. On the diagonal they can be trusted.
function diagram(bins) {
  const side = 260, left = 44, at = (share) => left + side * share, up = (share) => 8 + side * (1 - share);
  const drawing = svg("svg", { class: "reliability", viewBox: `0 0 ${left + side + 28} ${side + 48}`, role: "img",
    "aria-label": `Reliability: ${bins.map((bin) => `of predictions at ${percent(bin.confidence)}, ${percent(bin.accuracy)} are right`).join("; ") || "nothing yet"}` });
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    drawing.append(svg("line", { class: "grid", x1: at(tick), x2: at(tick), y1: up(0), y2: up(1) }), svg("line", { class: "grid", x1: at(0), x2: at(1), y1: up(tick), y2: up(tick) }),
      svg("text", { x: at(tick), y: side + 24, "font-size": 11, "text-anchor": "middle" }, `${100 * tick} %`), svg("text", { x: left - 6, y: up(tick) + 4, "font-size": 11, "text-anchor": "end" }, `${100 * tick} %`));
  }
  drawing.append(svg("line", { class: "diagonal", x1: at(0), x2: at(1), y1: up(0), y2: up(1) }), svg("text", { x: at(0.5), y: side + 42, "font-size": 11, "text-anchor": "middle" }, "probability of the prediction"));
  for (const bin of bins) {
    drawing.append(svg("line", { class: "gap", x1: at(bin.confidence), x2: at(bin.confidence), y1: up(bin.confidence), y2: up(bin.accuracy) }),
      svg("circle", { class: "bin", cx: at(bin.confidence), cy: up(bin.accuracy), r: 3 + 9 * Math.sqrt(bin.weight) }, svg("title", {}, `${percent(bin.confidence)}: ${percent(bin.accuracy)} right, ${percent(bin.weight)} of events`)));
  }
  return el("figure", {}, drawing, el("figcaption", { class: "soft" }, "Share of right predictions by their probability. Above the line the model is too timid, below it too sure; a larger circle is of more events."));
}

function reliabilityTable(bins) {
  return table("The newest events in bins of probability", ["probability", "right", "share of events"], bins.map((bin) => [percent(bin.confidence), percent(bin.accuracy), percent(bin.weight)]));
}

// The costs of deciding for a label from a threshold on; the service counts, the slider only chooses among its answers.
class Costs {
  constructor(report) {
    this.report = report;
    const cost = (id) => el("input", { id, type: "number", min: 0.000001, max: 1e9, step: "any", value: 1, onchange: () => this.load() });
    this.missed = cost("cost-missed");
    this.falseAlarm = cost("cost-false-alarm");
    this.label = el("select", { id: "cost-label", onchange: () => this.load() });
    this.slider = el("input", { id: "threshold", type: "range", min: 0, max: 1, step: 0.005, value: 0.5, oninput: () => this.draw() });
    this.now = el("p", { role: "status" });
    this.best = el("p");
    this.form = el("div", {}, el("div", { class: "toolbar" },
      el("span", {}, el("label", { for: "cost-label" }, "Decide for"), " ", this.label),
      el("span", {}, el("label", { for: "cost-missed" }, "cost of a miss"), " ", this.missed),
      el("span", {}, el("label", { for: "cost-false-alarm" }, "cost of a false alarm"), " ", this.falseAlarm)),
    el("div", { class: "toolbar" }, el("label", { for: "threshold" }, "Threshold"), this.slider), this.now, this.best);
    this.none = el("p", { class: "soft" });
    this.element = el("div", {}, el("h2", {}, "Costs of a threshold"), this.form, this.none);
  }

  async load() {
    const query = new URLSearchParams({ missed: this.missed.value || 1, false_alarm: this.falseAlarm.value || 1 });
    if (this.label.value) query.set("label", this.label.value);
    try {
      this.answer = await get(`v1/thresholds?${query}`);
      const { labels, label, reason } = this.answer;
      this.form.hidden = Boolean(reason);
      this.none.textContent = reason ? visible(`There is nothing to weigh: ${reason}.`) : "";
      if (reason) return;
      if (this.label.options.length !== labels.length) replace(this.label, labels.map((each) => el("option", { value: each }, each)));
      this.label.value = label;
      this.draw();
    } catch (error) { this.report(error); }
  }

  draw() {
    const { steps, cheapest, nominal, events, label } = this.answer, threshold = Number(this.slider.value);
    const step = steps.reduce((best, each) => (Math.abs(each.threshold - threshold) < Math.abs(best.threshold - threshold) ? each : best));
    const words = (each) => `${figure(each.misses)} misses and ${figure(each.false_alarms)} false alarms cost ${figure(each.cost)}`;
    this.slider.setAttribute("aria-valuetext", percent(step.threshold));
    replace(this.now, `Deciding for ${label} from ${percent(step.threshold)} on: ${words(step)}, in ${figure(events)} events with labels, of the newest that are kept.`);
    replace(this.best, el("strong", {}, `Cheapest on these events: ${percent(cheapest.threshold)}`), `, where ${words(cheapest)}. If the probabilities are right, ${percent(nominal)} is the best.`,
      " ", el("button", { class: "act", type: "button", onclick: () => { this.slider.value = cheapest.threshold; this.draw(); } }, "Set it"));
  }
}
