// Models: the model beside its challengers and the baselines, on the same events.

import { el, replace, table, throttled } from "./dom.js";
import { get } from "./service.js";

const MEASURES = [["accuracy", "accuracy"], ["log_loss", "log-loss"], ["brier", "Brier score"], ["kappa", "kappa"], ["roc_auc", "ROC AUC"], ["calibration_error", "calibration error"], ["macro_f1", "F1, mean of labels"]];

export class Models {
  constructor(panel, report) {
    this.report = report;
    this.list = el("div");
    panel.append(el("h2", {}, "Models side by side"), this.list);
    this.refresh = throttled(() => this.load(), 2000);
  }

  async show() { await this.load(); }

  async load() {
    try {
      const [answer, model] = await Promise.all([get("v1/evaluation"), get("v1/model")]);
      const measures = answer.measures || {}, status = answer.status || {};
      const columns = [];
      for (const [view, words] of [["fading", "newest events, fading"], ["cumulative", "all events"]]) {
        const found = measures[view];
        if (found && found.weight) columns.push([`${model.learner}, ${words}`, found], [`most frequent label, ${words}`, { accuracy: found.majority_accuracy }], [`last label again, ${words}`, { accuracy: found.no_change_accuracy }]);
      }
      for (const [name, found] of Object.entries(status.challengers || {})) {
        columns.push([`challenger ${name}, newest events, fading${found.failure ? `; dropped: ${found.failure}` : found.since ? `; since event ${found.since}` : ""}`, found]);
      }
      const rows = columns.map(([name, found]) => [name, ...MEASURES.map(([measure]) => found[measure] ?? null)]);
      replace(this.list, rows.length ? table("The same events, each predicted before it was learned", ["model", ...MEASURES.map(([, words]) => words)], rows) : el("p", { class: "soft" }, "No event has been scored yet."),
        status.challengers && Object.keys(status.challengers).length ? null : el("p", { class: "soft" }, "This pipeline has no challengers."));
    } catch (error) { this.report(error); }
  }
}
