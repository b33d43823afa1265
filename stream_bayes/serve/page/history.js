// History: the newest events with verdict, probability and evidence, and corrections by key.

import { el, figure, nameOf, percent, replace, table, throttled, time } from "./dom.js";
import { shown } from "./model.js";
import { currentToken, get, post } from "./service.js";

const MOST = 100;

export class History {
  constructor(panel, report) {
    this.report = report;
    this.key = el("input", { id: "key", type: "search" });
    this.isPaused = el("input", { id: "paused", type: "checkbox", onchange: () => this.load() });
    this.list = el("div");
    this.why = el("div", { role: "status" });
    this.outcome = el("span", { role: "status" });
    panel.append(el("h2", {}, "Newest events"),
      el("form", { class: "toolbar", onsubmit: (event) => { event.preventDefault(); this.load(); } },
        el("label", { for: "key" }, "Key"), this.key, el("button", { class: "act" }, "Find"),
        el("span", {}, this.isPaused, " ", el("label", { for: "paused" }, "pause")), this.outcome),
      this.why, this.list);
    this.refresh = throttled(() => { if (!this.isPaused.checked && !this.list.contains(document.activeElement)) this.load(); }, 1500);
  }

  async show() {
    try { this.model = await get("v1/model"); } catch (error) { this.report(error); }
    await this.load();
  }

  async load() {
    const key = this.key.value.trim();
    try {
      const answer = await get(key ? `v1/history?key=${encodeURIComponent(key)}` : `v1/history?limit=${MOST}`);
      this.draw(answer);
    } catch (error) { this.report(error); }
  }

  draw(answer) {
    const model = this.model || {};
    const labels = model.labels || [];
    const noChange = model.no_labels || (model.writes ? (currentToken() ? null : "enter the token to correct labels") : "the service takes no changes: it has no token");
    const rows = (answer.events || []).map((event) => {
      const p = event.probabilities ? event.probabilities[nameOf(event.prediction, Object.keys(event.probabilities))] : null;
      const isNumber = event.interval !== undefined, hasLabel = event.label !== null && event.label !== undefined;
      const isOutside = isNumber && hasLabel && event.interval && ((event.interval[0] ?? -Infinity) > event.label || event.label > (event.interval[1] ?? Infinity));
      const isWrong = isNumber ? isOutside : event.label !== null && event.label !== undefined && label(event.label) !== label(event.prediction);
      const isFinal = model.no_corrections && event.label !== null && event.label !== undefined; // learned, and cannot be unlearned
      const buttons = noChange === null && !isFinal && event.key !== null && event.key !== undefined
        ? isNumber ? this.field(event) : el("div", { class: "labels" }, labels.slice(0, 8).map((each) => el("button", {
          class: "act", type: "button", disabled: event.label !== null && label(each) === label(event.label), "aria-label": `Label of ${label(event.key)} is ${label(each)}`, onclick: () => this.correct(event.key, each),
        }, label(each)))) : null;
      const mail = event.x && (event.x.subject !== undefined || event.x.sender !== undefined) ? `${event.x.subject ?? ""} (${event.x.sender ?? ""})` : event.subject !== undefined ? `${event.subject} (${event.sender ?? ""})` : null;
      return [
        time(event.time), label(event.key), mail,
        el("span", { class: isWrong ? "wrong" : "" }, isNumber ? figure(event.prediction) : label(event.prediction)),
        isNumber && event.interval ? el("span", { class: "figure" }, `${end(event.interval[0], "-")} to ${end(event.interval[1], "")}`) : null,
        isNumber && hasLabel && typeof event.prediction === "number" ? el("span", { class: "figure" }, figure(event.prediction - event.label)) : null,
        p === null || p === undefined ? null : percent(p), event.surprise === undefined ? null : el("span", {}, `${figure(event.surprise)} nats`),
        el("span", {}, event.label === null || event.label === undefined ? "waits" : label(event.label), event.corrected_from !== null && event.corrected_from !== undefined ? ` (was ${label(event.corrected_from)})` : ""),
        event.x || event.tokens ? el("button", { class: "act", type: "button", "aria-label": `Evidence for ${label(event.key)}`, onclick: () => this.explain(event) }, "why") : null,
        buttons,
      ];
    });
    const headings = ["time", "key", "mail", "verdict", "interval", "error", "probability", "surprise", "label", "evidence", "correct the label"];
    const used = headings.map((_, place) => rows.some((row) => row[place] !== null && row[place] !== "–"));
    const notes = [`${figure(answer.kept ?? rows.length)} events are held`];
    if (answer.left_out) notes.push(`${figure(answer.left_out)} came too fast to be shown`);
    if (noChange) notes.push(noChange);
    else if (model.no_corrections) notes.push(`${model.no_corrections}, so a label that was learned cannot be corrected`);
    replace(this.list, rows.length
      ? table("The newest first", headings.filter((_, place) => used[place]), rows.map((row) => row.filter((_, place) => used[place])), "cards")
      : el("p", { class: "soft" }, "No event."), el("p", { class: "soft" }, notes.join("; "), "."));
  }

  // A field for the label of an event that is a number.
  field(event) {
    const entered = el("input", { type: "number", step: "any", required: true, value: event.label ?? undefined, "aria-label": `Label of ${label(event.key)}` });
    return el("form", { class: "labels", onsubmit: (submitted) => { submitted.preventDefault(); entered.blur(); this.correct(event.key, Number(entered.value)); } },
      entered, el("button", { class: "act" }, "Set"));
  }

  async explain(event) {
    try {
      const answer = await post("v1/explain", { id: event.id });
      replace(this.why, el("div", { class: "chart" }, el("div", { class: "toolbar" }, el("h2", {}, `Evidence for ${label(event.key)}`), el("button", { class: "act", type: "button", onclick: () => replace(this.why) }, "Close")), ...shown(answer)));
      this.report(null);
    } catch (error) { this.report(error); }
  }

  async correct(key, given) {
    try {
      const answer = await post("v1/labels", { key, label: given });
      this.outcome.textContent = `${label(key)} is ${label(given)}: ${answer.outcome}`;
      this.report(null);
      await this.load();
    } catch (error) { this.report(error); }
  }
}

function end(value, sign) { return value === null || value === undefined ? `${sign}\u221e` : figure(value); }

function label(value) {
  return value === null || value === undefined ? "–" : typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}
