// Now: the figures of the stream, its curves, confusions and dead letters.

import { Chart } from "./chart.js";
import { ago, el, figure, percent, replace, size, table, throttled } from "./dom.js";
import { get } from "./service.js";

const MOST_POINTS = 1440;
const MOST_LABELS = 12;

export class Now {
  constructor(panel, report) {
    this.report = report;
    this.curve = [];
    this.tiles = el("dl", { class: "tiles" });
    this.plots = el("div", { class: "charts" });
    this.confused = el("h2", {}, "Confusions");
    this.confusion = el("div");
    this.predictsNumbers(false);
    this.dead = el("div");
    panel.append(el("h2", {}, "Figures"), this.tiles, el("h2", {}, "Over time"), this.plots,
      el("div", { class: "columns" }, el("div", {}, this.confused, this.confusion), el("div", {}, el("h2", {}, "Dead letters"), this.dead)));
    this.refresh = throttled(() => this.load(), 2000);
    this.redraw = throttled(() => this.charts.forEach((chart) => chart.show(this.curve)), 900);
  }

  show() { this.load(); }

  // The charts are those of labels, or of numbers.
  predictsNumbers(isNumbers) {
    if (this.isNumbers === isNumbers) return;
    this.isNumbers = isNumbers;
    this.charts = [...(isNumbers ? chartsOfNumbers() : chartsOfLabels()), new Chart("Events a second, and lag", [
      { label: "events a second", colour: "blue", of: (point) => point.events_per_second },
      { label: "lag", colour: "orange", of: (point) => lagOf(point), isRight: true },
    ])];
    this.band = isNumbers ? new Chart("Newest events: number, interval and label", [
      { label: "prediction", colour: "blue", of: (event) => event.prediction },
      { label: "low", colour: "soft", of: (event) => (event.interval || [])[0] },
      { label: "high", colour: "soft", of: (event) => (event.interval || [])[1] },
      { label: "label", colour: "orange", of: (event) => (typeof event.label === "number" ? event.label : null) },
    ]) : null;
    replace(this.plots, [...this.charts, ...(this.band ? [this.band] : [])].map((chart) => chart.element));
    this.confused.hidden = this.confusion.hidden = isNumbers;
  }

  async load() {
    try {
      const answer = await get("v1/evaluation");
      this.curve = answer.curve || [];
      if (answer.status && answer.status.time) this.status(answer.status, false);
      this.redraw();
      if (!this.isNumbers) replace(this.confusion, confusionTable((answer.measures || {}).confusion));
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

function lagTile(lag, units) {
  const byUnit = [...lagByUnit(lag, units)];
  if (!byUnit.length) return ["unknown", "the end of the source"];
  const shown = byUnit.map(([unit, behind]) => (unit === "bytes" ? size(behind) : figure(behind)));
  return [shown.join(" + "), `${byUnit.map(([unit]) => (unit === "bytes" ? "of the file" : unit)).join(", ")} behind`];
}

function confusionTable(confusion) {
  if (!confusion || !confusion.cells.length) return el("p", { class: "soft" }, "No event has been scored yet.");
  const weight = new Map(), totals = new Map();
  let unanswered = 0;
  for (const [label, prediction, count] of confusion.cells) {
    if (prediction === null) { unanswered += count; continue; }
    const one = String(label), other = String(prediction);
    weight.set(JSON.stringify([one, other]), count);
    totals.set(one, (totals.get(one) || 0) + count);
    if (!totals.has(other)) totals.set(other, 0);
  }
  const all = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a));
  const labels = all.slice(0, MOST_LABELS);
  const rows = labels.map((label) => [label, ...labels.map((prediction) => {
    const count = weight.get(JSON.stringify([label, prediction])) || 0, share = count / (totals.get(label) || 1);
    return el("span", { class: label === prediction ? "good" : share > 0.2 ? "wrong" : "" }, figure(Math.round(count)));
  }), percent((weight.get(JSON.stringify([label, label])) || 0) / (totals.get(label) || 1))]);
  const notes = [];
  if (all.length > labels.length) notes.push(`${all.length - labels.length} rarer labels are not shown`);
  if (unanswered) notes.push(`${figure(Math.round(unanswered))} events came before the first answer`);
  return el("div", {}, table("Newest events; rows are labels, columns predictions", ["label", ...labels, "right"], rows),
    notes.length ? el("p", { class: "soft" }, notes.join("; "), ".") : null);
}
