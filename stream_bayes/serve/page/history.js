// History: the newest events, filtered, with verdict, probability and evidence; exports; and corrections by key.

import { el, figure, percent, replace, table, throttled, time } from "./dom.js";
import { shown } from "./model.js";
import { currentToken, get, getText, post } from "./service.js";

const MOST = 100, MOST_EXPORTED = 100000;
const KINDS = [["", "all events"], ["wrong", "wrong"], ["unsure", "unsure"], ["right", "right"], ["waits", "waiting for their labels"]];

export class History {
  constructor(panel, report) {
    this.report = report;
    const load = () => this.load();
    this.text = el("input", { id: "search", type: "search", size: 16, oninput: throttled(load, 300) });
    this.only = el("select", { id: "only", onchange: load }, KINDS.map(([value, words]) => el("option", { value }, words)));
    this.below = el("input", { id: "below", type: "number", min: 0, max: 1, step: 0.05, value: 0.75, onchange: load });
    this.belowPart = el("span", {}, el("label", { for: "below" }, "below probability"), " ", this.below);
    this.label = this.choice("label-filter");
    this.prediction = this.choice("prediction-filter");
    this.isPaused = el("input", { id: "paused", type: "checkbox", onchange: load });
    this.list = el("div");
    this.why = el("div", { role: "status" });
    this.outcome = el("span", { role: "status" });
    const part = (words, field) => el("span", {}, el("label", { for: field.id }, words), " ", field);
    panel.append(el("h2", {}, "Newest events"),
      el("form", { class: "toolbar", onsubmit: (event) => { event.preventDefault(); this.load(); } },
        part("Search", this.text), part("Show", this.only), this.belowPart, part("label", this.label), part("verdict", this.prediction),
        el("button", { class: "act", type: "button", onclick: () => this.open({}) }, "Clear"),
        el("button", { class: "act", type: "button", onclick: () => this.save("csv") }, "Save as CSV"),
        el("button", { class: "act", type: "button", onclick: () => this.save("json") }, "Save as JSON"),
        el("span", {}, this.isPaused, " ", el("label", { for: "paused" }, "pause")), this.outcome),
      this.why, this.list);
    this.refresh = throttled(() => { if (!this.isPaused.checked && !this.list.contains(document.activeElement)) this.load(); }, 1500);
  }

  // A filter by a label or verdict: any, none, or one of those that came.
  choice(id) { return el("select", { id, onchange: () => this.load() }, el("option", { value: "any" }, "any")); }

  // Show the events of a filter alone: { only, label, prediction, text }, each a text.
  open(filter) {
    this.only.value = filter.only ?? "";
    this.text.value = filter.text ?? "";
    for (const [field, value] of [[this.label, filter.label], [this.prediction, filter.prediction]]) {
      if (value !== undefined) this.offer(field, [value]);
      field.value = value === undefined ? "any" : `=${value}`;
    }
    return this.load();
  }

  offer(field, values) {
    const offered = new Set([...field.options].map((option) => option.value));
    for (const value of values) if (!offered.has(`=${value}`)) field.append(el("option", { value: `=${value}` }, value === "" ? "none" : value));
  }

  async show() {
    try {
      this.model = await get("v1/model");
      const labels = ["", ...(this.model.labels || []).map(label)];
      this.offer(this.label, labels);
      this.offer(this.prediction, labels);
    } catch (error) { this.report(error); }
    await this.load();
  }

  query(limit, format) {
    const query = new URLSearchParams({ limit, format });
    if (this.only.value) query.set("only", this.only.value);
    if (this.only.value === "unsure" && this.below.value) query.set("below", this.below.value);
    if (this.text.value.trim()) query.set("text", this.text.value.trim());
    if (this.label.value !== "any") query.set("label", this.label.value.slice(1));
    if (this.prediction.value !== "any") query.set("prediction", this.prediction.value.slice(1));
    return `v1/history?${query}`;
  }

  async load() {
    this.belowPart.hidden = this.only.value !== "unsure";
    const number = this.asked = (this.asked || 0) + 1;
    try {
      const answer = await get(this.query(MOST, "json"));
      if (number !== this.asked) return; // a newer filter is on its way
      this.draw(answer);
      this.report(null);
    } catch (error) { this.report(error); }
  }

  async save(format) {
    try {
      const found = await getText(this.query(MOST_EXPORTED, format));
      const address = URL.createObjectURL(new Blob([found], { type: format === "csv" ? "text/csv" : "application/json" }));
      el("a", { href: address, download: `events.${format}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      this.report(null);
    } catch (error) { this.report(error); }
  }

  draw(answer) {
    const model = this.model || {};
    const labels = model.labels || [];
    const noChange = model.no_labels || (model.writes ? (currentToken() ? null : "enter the token to correct labels") : "the service takes no changes: it has no token");
    const rows = answer.events.map((event) => {
      const isNumber = event.interval !== undefined, hasLabel = event.label !== null && event.label !== undefined;
      const isFinal = model.no_corrections && hasLabel; // learned, and cannot be unlearned
      const buttons = noChange === null && !isFinal && event.key !== null && event.key !== undefined
        ? isNumber ? this.field(event) : el("div", { class: "labels" }, labels.slice(0, 8).map((each) => el("button", {
          class: "act", type: "button", disabled: event.label !== null && label(each) === label(event.label), "aria-label": `Label of ${label(event.key)} is ${label(each)}`, onclick: () => this.correct(event.key, each),
        }, label(each)))) : null;
      const mail = event.x && (event.x.subject !== undefined || event.x.sender !== undefined) ? `${event.x.subject ?? ""} (${event.x.sender ?? ""})` : event.subject !== undefined ? `${event.subject} (${event.sender ?? ""})` : null;
      return [
        event.time === null ? null : time(event.time), label(event.key), mail,
        el("span", { class: event.verdict === "wrong" ? "wrong" : "" }, typeof event.prediction === "number" ? figure(event.prediction) : several(event.prediction)),
        isNumber && event.interval ? el("span", { class: "figure" }, `${end(event.interval[0], "-")} to ${end(event.interval[1], "")}`) : null,
        isNumber && hasLabel && typeof event.prediction === "number" ? el("span", { class: "figure" }, figure(event.prediction - event.label)) : null,
        event.certainty === null ? null : percent(event.certainty), event.surprise === undefined ? null : el("span", {}, `${figure(event.surprise)} nats`),
        event.verdict === null ? null : el("span", {}, event.verdict === "waits" ? "waits" : label(event.label), event.corrected_from !== null && event.corrected_from !== undefined ? ` (was ${label(event.corrected_from)})` : ""),
        event.x || event.tokens ? el("button", { class: "act", type: "button", "aria-label": `Evidence for ${label(event.key)}`, onclick: () => this.explain(event) }, "why") : null,
        buttons,
      ];
    });
    const headings = ["time", "key", "mail", "verdict", "interval", "error", "probability", "surprise", "label", "evidence", "correct the label"];
    const used = headings.map((_, place) => rows.some((row) => row[place] !== null && row[place] !== "–"));
    const notes = [`${figure(answer.matching)} of the ${figure(answer.kept)} newest events match${answer.matching > rows.length ? `, and the ${figure(rows.length)} newest of these are shown` : ""}`];
    if (answer.left_out) notes.push(`${figure(answer.left_out)} came too fast to be kept`);
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

// A network may predict several variables.
function several(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return label(value);
  return Object.entries(value).map(([name, each]) => `${name}: ${typeof each === "number" ? figure(each) : label(each)}`).join(", ");
}

function end(value, sign) { return value === null || value === undefined ? `${sign}\u221e` : figure(value); }

function label(value) {
  return value === null || value === undefined ? "–" : typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}
