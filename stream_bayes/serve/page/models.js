// Models: the model beside its challengers and the baselines, on the same events.

import { el, figure, percent, replace, table, throttled } from "./dom.js";
import { get } from "./service.js";

// Name, heading, whether a share, and whether more is better.
const MEASURES = [
  ["accuracy", "accuracy", true, true], ["log_loss", "log-loss", false, false], ["brier", "Brier score", false, false], ["kappa", "kappa", false, true],
  ["roc_auc", "ROC AUC", false, true], ["calibration_error", "calibration error", true, false], ["macro_f1", "F1, mean of labels", false, true],
];

const MEASURES_OF_NUMBERS = [
  ["rmse", "RMSE", false, false], ["mae", "mean absolute error", false, false], ["r2", "R2", false, true], ["coverage", "coverage", true, null], ["width", "width", false, null], ["crps", "CRPS", false, false], ["log_density", "log density", false, true],
];

export class Models {
  constructor(panel, report) {
    this.report = report;
    this.list = el("div");
    panel.append(el("h2", {}, "Models side by side"), el("p", { class: "soft" }, "On the same events, each predicted before it is learned. The best of a column is bold."), this.list);
    this.refresh = throttled(() => this.load(), 2000);
  }

  async show() { await this.load(); }

  async load() {
    try {
      const [answer, model] = await Promise.all([get("v1/evaluation"), get("v1/model")]);
      const measures = answer.measures || {}, challengers = Object.entries((answer.status || {}).challengers || {});
      const parts = [];
      for (const [view, words] of [["fading", "Newest events, older ones fading"], ["cumulative", "All events"]]) {
        const found = measures[view];
        if (!found || !found.weight) continue;
        const models = [[model.learner, found]];
        if (view === "fading") for (const [name, each] of challengers) models.push([`challenger ${name}${note(each)}`, each]);
        const isNumbers = model.task === "regression", measured = isNumbers ? MEASURES_OF_NUMBERS : MEASURES;
        const baselines = isNumbers
          ? [["no change: the last label again", { rmse: found.no_change_rmse }], ["mean: that of all labels before", { rmse: found.mean_rmse }]]
          : [["no change: the last label again", { accuracy: found.no_change_accuracy }], ["majority: the most frequent label", { accuracy: found.majority_accuracy }]];
        parts.push(table(words, ["model", ...measured.map((each) => each[1])], rowsOf(models, baselines, measured)));
      }
      replace(this.list, parts.length ? parts : el("p", { class: "soft" }, "No event has been scored yet."),
        challengers.length ? null : el("p", { class: "soft" }, "This pipeline has no challengers. Add [[challengers]] to its file to compare models on its stream."));
    } catch (error) { this.report(error); }
  }
}

function note(challenger) {
  return challenger.failure ? `; dropped: ${challenger.failure}` : challenger.since ? `, since event ${figure(challenger.since)}` : "";
}

function rowsOf(models, baselines, measured) {
  const rows = [...models, ...baselines];
  const best = measured.map(([name, , , isMore]) => {
    if (isMore === null) return null;
    const values = rows.map(([, found]) => found[name]).filter((value) => typeof value === "number");
    return values.length < 2 ? null : Math[isMore ? "max" : "min"](...values);
  });
  return rows.map(([words, found]) => [words, ...measured.map(([name, , isShare], place) => {
    const value = found[name] ?? null;
    if (value === null) return null;
    const text = isShare ? percent(value) : measured === MEASURES ? value.toFixed(3) : figure(value);
    return el(value === best[place] ? "strong" : "span", { class: "figure" }, text);
  })]);
}
