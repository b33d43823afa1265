// Now: the figures of the stream, its curves, confusions and dead letters.

import { Chart } from "./chart.js";
import { ago, el, figure, percent, replace, size, table, throttled } from "./dom.js";
import { range } from "./range.js";
import { get } from "./service.js";

const MOST_POINTS = 1440;
const MOST_LABELS = 12; // rows and columns of the confusion matrix

export class Now {
  constructor(panel, report, openEvents) {
    this.report = report;
    this.openEvents = openEvents;
    this.curve = [];
    this.tiles = el("dl", { class: "tiles" });
    this.plots = el("div", { class: "charts" });
    this.confused = el("h2", {}, "Confusions");
    this.confusion = el("div");
    this.predictsNumbers(false);
    this.dead = el("div");
    panel.append(el("h2", {}, "Figures"), this.tiles, el("h2", {}, "Over time"), range.bar("range-now"), this.plots,
      el("div", { class: "columns" }, el("div", {}, this.confused, this.confusion), el("div", {}, el("h2", {}, "Dead letters"), this.dead)));
    this.refresh = throttled(() => this.load(), 2000);
    this.redraw = throttled(() => this.charts.forEach((chart) => chart.show(this.curve)), 900);
  }

  show() { this.load(); }

  // The charts are those of labels, or of numbers.
  predictsNumbers(isNumbers) {
    if (this.isNumbers === isNumbers) return;
    this.isNumbers = isNumbers;
    for (const chart of this.charts || []) range.charts.delete(chart);
    this.charts = [...(isNumbers ? chartsOfNumbers() : chartsOfLabels()), new Chart("Events a second, and lag", [
      { label: "events a second", colour: "blue", of: (point) => point.events_per_second },
      { label: "lag", colour: "orange", of: (point) => lagOf(point), isRight: true, text: (value) => withUnit(value, this.lagUnit) },
    ])];
    this.band = isNumbers ? new Chart("Newest events: number, interval and label", [
      { label: "prediction", colour: "blue", of: (event) => event.prediction },
      { label: "low", colour: "soft", of: (event) => (event.interval || [])[0] },
      { label: "high", colour: "soft", of: (event) => (event.interval || [])[1] },
      { label: "label", colour: "orange", of: (event) => (typeof event.label === "number" ? event.label : null) },
    ], { hasOwnTime: true }) : null;
    replace(this.plots, [...this.charts, ...(this.band ? [this.band] : [])].map((chart) => chart.element));
    this.confused.hidden = this.confusion.hidden = isNumbers;
  }

  async load() {
    try {
      const answer = await get("v1/evaluation");
      this.curve = answer.curve || [];
      if (answer.status && answer.status.time) this.status(answer.status, false);
      this.redraw();
      if (!this.isNumbers) replace(this.confusion, confusionTable(await get("v1/confusion"), this.openEvents));
      else this.band.show(((await get("v1/history?limit=100")).events || []).filter((event) => typeof event.time === "number").reverse());
    } catch (error) { this.report(error); }
  }

  status(status, isNew = true) {
    const measures = status.measures || {};
    this.predictsNumbers("rmse" in measures);
    if (isNew) {
      this.curve.push({ time: status.time, processed: status.processed, events_per_second: status.events_per_second, lag: status.lag, lag_units: status.lag_units, ...measures });
      if (this.curve.length > MOST_POINTS) this.curve.splice(0, this.curve.length - MOST_POINTS);
      this.redraw();
    }
    this.lagUnit = Object.values(status.lag_units || {})[0];
    const dead = Object.values(status.dead || {}).reduce((sum, count) => sum + count, 0);
    const newest = (status.snapshots || {}).newest;
    const now = Date.now() / 1000;
    const tiles = [
      ["Events", figure(status.processed), `${figure(Math.round(status.events_per_second || 0))} a second`],
      ["Lag", ...lagTile(status.lag || [], status.lag_units || {})],
      ...(this.isNumbers ? tilesOfNumbers(measures) : tilesOfLabels(measures)),
      ["Dead letters", figure(dead), dead ? "reasons below" : "none"],
      ["Snapshot", newest ? ago(now - newest.time) : "none", newest ? size(newest.bytes) : "none was written"],
      ["Replaced", status.generation === 1 ? "once" : `${figure(status.generation ?? 0)} times`, status.drift_state ? `drift: ${status.drift_state}` : "no drift detection"],
    ];
    replace(this.tiles, tiles.map(([name, value, more]) => el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, value, el("small", {}, more)))));
    const reasons = Object.entries(status.dead || {});
    replace(this.dead, reasons.length
      ? table("Records that could not be used", ["reason", "records", "newest, at its position"], reasons.map(([reason, count]) => {
        const last = (status.last_dead || {})[reason];
        return [reason, count, last ? `${text(last[0])}: ${text(last[1])}` : null];
      }))
      : el("p", { class: "soft" }, "Every record could be used."));
  }
}

function chartsOfLabels() {
  return [
    new Chart("Accuracy", [
      { label: "model", colour: "blue", of: (point) => point.accuracy },
      { label: "no change", colour: "orange", of: (point) => point.no_change_accuracy },
      { label: "majority", colour: "soft", of: (point) => point.majority_accuracy },
    ], { isShare: true }),
    new Chart("Log-loss", [{ label: "model", colour: "blue", of: (point) => point.log_loss }]),
    new Chart("Calibration error", [{ label: "model", colour: "blue", of: (point) => point.calibration_error }], { isShare: true }),
  ];
}

function chartsOfNumbers() {
  return [
    new Chart("Root mean squared error", [
      { label: "model", colour: "blue", of: (point) => point.rmse },
      { label: "no change", colour: "orange", of: (point) => point.no_change_rmse },
      { label: "mean", colour: "soft", of: (point) => point.mean_rmse },
    ]),
    new Chart("Coverage of the intervals", [{ label: "model", colour: "blue", of: (point) => point.coverage }], { isShare: true }),
    new Chart("Width of the intervals", [{ label: "model", colour: "blue", of: (point) => point.width }]),
    new Chart("CRPS", [{ label: "model", colour: "blue", of: (point) => point.crps }]),
    new Chart("Log density", [{ label: "model", colour: "blue", of: (point) => point.log_density }]),
  ];
}

function tilesOfLabels(measures) {
  return [
    ["Accuracy", percent(measures.accuracy), `baseline ${percent(baseline(measures))}`],
    ["Log-loss", typeof measures.log_loss === "number" ? measures.log_loss.toFixed(3) : "–", "nats an event"],
    ["Calibration error", percent(measures.calibration_error), "expected (ECE)"],
  ];
}

function tilesOfNumbers(measures) {
  const baselines = [measures.no_change_rmse, measures.mean_rmse].filter((value) => typeof value === "number");
  return [
    ["RMSE", figure(measures.rmse), `baseline ${figure(baselines.length ? Math.min(...baselines) : null)}`],
    ["MAE", figure(measures.mae), "mean absolute error"],
    ["CRPS", figure(measures.crps), "error of the whole distribution"],
    ["Log density", figure(measures.log_density), "nats an event, more is better"],
    ["Coverage", percent(measures.coverage), `mean width ${figure(measures.width)}`],
  ];
}

function text(value) { return typeof value === "string" ? value : JSON.stringify(value); }

// The better one of the two baselines.
function baseline(measures) {
  const found = [measures.no_change_accuracy, measures.majority_accuracy].filter((value) => typeof value === "number");
  return found.length ? Math.max(...found) : null;
}

// The lag of all partitions; null if it is not known, or is bytes of some and rows of others.
function lagOf(point) {
  if (!Array.isArray(point.lag)) return point.lag; // a point of the service's own curve
  const byUnit = lagByUnit(point.lag, point.lag_units || {});
  return byUnit.size === 1 ? [...byUnit.values()][0] : null;
}

function lagByUnit(lag, units) {
  const byUnit = new Map();
  for (const [source, , behind] of lag) byUnit.set(units[source] ?? "positions", (byUnit.get(units[source] ?? "positions") || 0) + behind);
  return byUnit;
}

function withUnit(behind, unit) { return unit === "bytes" ? size(behind) : figure(behind); }

// The lag as a text, and what it counts.
export function lagTile(lag, units) {
  const byUnit = [...lagByUnit(lag, units)];
  if (!byUnit.length) return ["unknown", "the end of the source"];
  const shown = byUnit.map(([unit, behind]) => withUnit(behind, unit));
  return [shown.join(" + "), `${byUnit.map(([unit]) => (unit === "bytes" ? "of the file" : unit)).join(", ")} behind`];
}

// Events of the history by label and prediction; `openEvents({ label, prediction })` shows those of a cell.
function confusionTable(answer, openEvents) {
  if (!answer.most) return el("p", { class: "soft" }, "The service keeps no events: set serve.history.events.");
  if (!answer.cells.length) return el("p", { class: "soft" }, "No event with a label is kept.");
  const counts = new Map(), totals = new Map(), columns = new Map();
  for (const [label, prediction, count] of answer.cells) {
    const one = nameOf(label), other = nameOf(prediction);
    counts.set(JSON.stringify([one, other]), count);
    totals.set(one, (totals.get(one) || 0) + count);
    columns.set(other, (columns.get(other) || 0) + count);
  }
  const most = (of) => [...of.keys()].sort((a, b) => of.get(b) - of.get(a)).slice(0, MOST_LABELS);
  const labels = most(totals), predictions = [...labels.filter((label) => columns.has(label)), ...most(columns).filter((each) => !labels.includes(each))].slice(0, MOST_LABELS);
  const countOf = (label, prediction) => counts.get(JSON.stringify([label, prediction])) || 0;
  const rows = labels.map((label) => [label, ...predictions.map((prediction) => {
    const count = countOf(label, prediction), share = count / totals.get(label);
    if (!count) return 0;
    return el("button", { class: `act figure ${label === prediction ? "good" : share > 0.2 ? "wrong" : ""}`, type: "button",
      "aria-label": `${count} events: label ${label}, verdict ${prediction || "none"}`, onclick: () => openEvents({ label, prediction }) }, figure(count));
  }), percent(countOf(label, label) / totals.get(label))]);
  const notes = [`of the ${figure(answer.kept)} newest events that are kept; a number opens its events`];
  if (answer.left_out) notes.push(`${figure(answer.left_out)} came too fast to be kept`);
  const hidden = totals.size - labels.length + columns.size - predictions.length;
  if (hidden) notes.push(`${hidden} rarer rows and columns are not shown`);
  return el("div", {}, table("Rows are labels, columns verdicts", ["label", ...predictions.map((each) => each || "none"), "right"], rows), el("p", { class: "soft" }, notes.join("; "), "."));
}

function nameOf(value) { return value === null || value === undefined ? "" : text(value); }
