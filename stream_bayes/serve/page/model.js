// Model: what it has learned, answers for values that are entered, and monitors of networks.

import { bar, el, figure, percent, replace, signedBar, table, throttled } from "./dom.js";
import { Graph } from "./graph.js";
import { likelihood, Scenarios } from "./scenarios.js";
import { get, post } from "./service.js";

const MOST_SHOWN = 40;
const MOST_EXPERT_LABELS = 8;
const LEVEL = 0.95;

export class Model {
  constructor(panel, report) {
    this.report = report;
    this.evidence = new Map();
    this.given = new Map();
    this.asked = 0;
    this.facts = el("div");
    this.monitors = el("div");
    this.scenarios = new Scenarios(report);
    this.form = el("div");
    this.answer = el("div", { role: "status" });
    this.features = el("div");
    this.structure = el("div");
    panel.append(this.facts, this.monitors, this.scenarios.element, el("div", { class: "columns trying" }, this.form, this.answer), this.structure, this.features);
    this.refresh = throttled(() => this.update(), 1000);
    this.drawn = null;
  }

  async show() { await this.load(); }

  // A newer copy of the model answers: numbers move, what was entered stays.
  async update() {
    if (this.model && this.model.can.query) await Promise.all([this.query(), this.scenarios.refresh()]);
    if (this.form.firstChild) await this.ask();
    if (!this.described || performance.now() - this.described > 15000) await this.load();
  }

  async load() {
    try {
      const model = await get("v1/model");
      this.described = performance.now();
      this.model = model;
      const form = JSON.stringify([model.learner, model.graph, (model.features || []).map((each) => [each.name, each.values])]);
      this.showFacts(model);
      if (form !== this.drawn) {
        this.drawn = form;
        this.drawForm(model);
        await this.drawGraph(model);
        await this.ask();
      }
      this.showFeatures(model);
    } catch (error) { this.report(error); }
  }

  showFacts(model) {
    const prior = Object.entries(model.prior || {});
    const settings = model.settings && Object.keys(model.settings).length
      ? el("details", {}, el("summary", {}, "Settings"), el("p", { class: "settings" }, settingsOf(model.settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", "))) : null;
    replace(this.facts, el("h2", {}, `${model.learner}, after ${figure(model.model.processed)} events`), settings,
      prior.length ? table("Share of each label", ["label", "share", ""], prior.slice(0, MOST_SHOWN).map(([label, p]) => [label, percent(p), bar(p, `${label}: ${percent(p)}`)])) : null);
  }

  // -- monitors and graph

  async drawGraph(model) {
    replace(this.monitors);
    replace(this.structure);
    this.graph = null;
    if (!model.graph) return;
    if (!model.can.query) {
      const meaning = model.edges_are === "dependences"
        ? "The strongest dependences between features, given the label. The model averages over all features as parents." : "Edges between features; each also depends on the label.";
      replace(this.structure, el("h2", {}, "Structure"), el("p", { class: "soft" }, meaning),
        el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Structure" }, new Graph(model.graph).element));
      return;
    }
    this.graph = new Graph(model.graph, (name, value) => this.choose(name, value));
    this.note = el("span", { class: "soft", role: "status" });
    this.intervals = el("input", { type: "checkbox", id: "intervals", onchange: () => this.query() });
    replace(this.monitors, el("h2", {}, "Monitors"),
      el("div", { class: "toolbar" }, el("span", {}, "Click a bar to observe a value; click it again to take it back."),
        el("button", { class: "act", type: "button", onclick: () => { this.evidence.clear(); this.query(); } }, "Clear evidence"),
        el("button", { class: "act", type: "button", onclick: () => this.scenarios.keep(this.evidence) }, "Keep as scenario"),
        el("span", {}, this.intervals, " ", el("label", { for: "intervals" }, "95 % intervals")), this.note),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Monitors of all variables" }, this.graph.element));
    this.scenarios.offer(model.graph.nodes.filter((node) => node.rows.length).map((node) => node.name));
    await this.query();
  }

  choose(name, value) {
    if (this.evidence.get(name) === value) this.evidence.delete(name); else this.evidence.set(name, value);
    return this.query();
  }

  async query() {
    if (!this.graph) return;
    const number = ++this.asked, start = performance.now();
    const body = { evidence: Object.fromEntries(this.evidence) };
    if (this.intervals.checked) body.level = LEVEL;
    try {
      const answer = await post("v1/query", body);
      if (number !== this.asked) return; // a newer click is on its way
      this.graph.show(answer.posteriors, this.evidence);
      const took = performance.now() - start;
      this.graph.element.dataset.milliseconds = took.toFixed(1);
      const observed = this.evidence.size && answer.evidence ? ` (${likelihood(answer.evidence)})` : "";
      this.note.textContent = `${this.evidence.size} observed${observed}; ${Object.keys(answer.posteriors).length} posteriors after ${figure(answer.model.processed)} events`;
      this.report(null);
    } catch (error) {
      if (number !== this.asked) return;
      if (error.type && error.type.includes("impossible")) this.note.textContent = "These values never occur together: take one back.";
      this.report(error);
    }
  }

  // -- a form

  drawForm(model) {
    replace(this.form);
    replace(this.answer);
    if (model.can.check) {
      const raw = el("textarea", { id: "raw", rows: 10, cols: 50, spellcheck: "false" });
      replace(this.form, el("h2", {}, "A mail"), el("p", {}, el("label", { for: "raw" }, "Paste a mail with its headers")), raw,
        el("p", {}, el("button", { class: "act", type: "button", onclick: () => this.check(raw.value) }, "Check")));
      return;
    }
    if (!model.can.predict) return;
    const fields = (model.features || []).slice(0, MOST_SHOWN).flatMap((feature, place) => {
      const id = `value-${place}`;
      const change = (event) => {
        const entered = event.target.value;
        const value = feature.kind === "numeric" ? (entered === "" ? undefined : Number(entered)) : feature.values.find((each) => text(each) === entered);
        if (value === undefined) this.given.delete(feature.name); else this.given.set(feature.name, value);
        this.ask();
      };
      const field = feature.kind === "numeric"
        ? el("input", { id, type: "number", step: "any", value: this.given.get(feature.name), oninput: change })
        : el("select", { id, onchange: change }, el("option", { value: "" }, "(not known)"), feature.values.map((value) => el("option", { value: text(value) }, text(value))));
      return [el("label", { for: id }, feature.name), field];
    });
    const left = (model.features || []).length - fields.length / 2 + (model.features_left_out || 0);
    replace(this.form, el("h2", {}, "Try values"), el("form", { class: "values", onsubmit: (event) => event.preventDefault() }, fields),
      left > 0 ? el("p", { class: "soft" }, `${figure(left)} further features tell less, and are not shown.`) : null);
  }

  async ask() {
    const model = this.model;
    if (!model || model.can.check || !model.can.predict) return;
    try {
      const body = { x: Object.fromEntries(this.given) };
      if (model.can.intervals) body.level = LEVEL;
      const answer = await post(model.can.explain ? "v1/explain" : "v1/predict", body);
      replace(this.answer, ...shown(answer));
      this.report(null);
    } catch (error) { this.report(error); }
  }

  async check(raw) {
    try {
      const answer = await post("v1/check", raw, "message/rfc822");
      const rows = answer.evidence.map((each) => [each.token, each.adds, each.wanted, each.unwanted]);
      replace(this.answer, el("h2", {}, `Verdict: ${answer.verdict}`), ...probabilities(answer.probabilities), table("Tokens that decided", ["token", "adds", "in wanted mails", "in unwanted mails"], rows));
      this.report(null);
    } catch (error) { this.report(error); }
  }

  // -- features

  showFeatures(model) {
    const features = (model.features || []).filter((each) => each.table || each.information !== null).slice(0, MOST_SHOWN);
    if (model.can.check) {
      const [wanted, unwanted] = (model.labels || []).map(text), most = Math.max(...model.telling.map((each) => each.information), 1e-9);
      replace(this.features, el("h2", {}, "The most telling tokens"),
        el("p", { class: "soft" }, `Of ${figure(model.tokens)} tokens of ${Object.entries(model.messages || {}).map(([label, count]) => `${figure(count)} ${label}`).join(" and ")}; by the mutual information of their presence with the label.`),
        model.telling.length ? table("Messages that hold a token", ["token", wanted, unwanted, "", "information"], model.telling.map((each) => [
          each.token, each.wanted, each.unwanted, bar(each.information / most, `${each.token}: ${nats(each.information)} about the label`), el("span", { class: "figure" }, nats(each.information))]))
          : el("p", {}, "They are hashed, not counted by name, or there are none yet."));
      return;
    }
    if (!features.some((each) => each.table)) { replace(this.features); return; }
    const open = new Set([...this.features.querySelectorAll("details[open]")].map((each) => each.dataset.name));
    const most = Math.max(...features.map((each) => each.information || 0), 1e-9);
    replace(this.features, el("h2", {}, "The most telling features"), el("p", { class: "soft" }, "By their mutual information with the label. Open one to see its table."), features.map((feature) => {
      const details = el("details", { "data-name": feature.name, open: open.has(feature.name) },
        el("summary", {}, el("span", { class: "feature" }, el("span", {}, feature.name), bar((feature.information || 0) / most, `${feature.name}: ${nats(feature.information)} about the label`), el("span", { class: "soft" }, nats(feature.information)))),
        tableOf(feature));
      return details;
    }));
  }
}

// Those that are set, the parameters of a learner among them.
function settingsOf(settings) {
  return Object.entries(settings).flatMap(([name, value]) => (name === "parameters" ? Object.entries(value) : [[name, value]]))
    .filter(([name, value]) => name !== "steps" && value !== null);
}

function tableOf(feature) {
  if (!feature.table) return el("p", { class: "soft" }, "This learner has no table of it alone.");
  const labels = Object.keys(feature.table);
  const first = feature.table[labels[0]] || {};
  if ("mean" in first) return table(`${feature.name}, for each label`, ["label", "mean", "standard deviation"], labels.map((label) => [label, feature.table[label].mean, feature.table[label].sd]));
  const values = Object.keys(first).slice(0, MOST_SHOWN);
  return table(`P(${feature.name} | label)`, ["value", ...labels], values.map((value) => [value, ...labels.map((label) => {
    const p = feature.table[label][value];
    return el("span", {}, bar(p, `${value} given ${label}`), ` ${percent(p)}`);
  })]));
}

function probabilities(found, intervals) {
  const headings = ["label", "probability", ...(intervals ? [`${percent(LEVEL)} interval`] : []), ""];
  return [table("Probabilities", headings, Object.entries(found).map(([label, p]) => [
    label, percent(p), ...(intervals ? [intervals[label].map(percent).join(" to ")] : []), bar(p, `${label}: ${percent(p)}`)]))];
}

// The answer of predict or explain: probabilities, and the evidence for the first label against the second.
export function shown(answer) {
  if (answer.kind === "surprise") return shownSurprise(answer);
  if (!answer.probabilities) return shownNumber(answer);
  const parts = [...probabilities(answer.probabilities, answer.intervals)];
  if (answer.sets) parts.push(table("Sets of labels", ["holds the label in", "set"], Object.entries(answer.sets).map(([level, labels]) => [percent(Number(level)), labels.map(text).join(", ") || "no label"])));
  if (answer.kind === "tokens") {
    const most = Math.max(...answer.evidence.map((each) => Math.abs(each.adds)), 1e-9);
    parts.push(table("Tokens that decided", ["token", "", "adds"], answer.evidence.map((each) => [
      each.token, signedBar(each.adds / most, `${each.token}: ${each.adds.toFixed(2)}`), el("span", { class: "figure" }, each.adds.toFixed(3))])));
  } else if (answer.evidence && answer.evidence.length) {
    const [first, second] = Object.entries(answer.probabilities).sort((a, b) => b[1] - a[1]).map((pair) => pair[0]);
    const gaps = answer.evidence.map((each) => [each, (each.evidence[first] ?? 0) - (second === undefined ? 0 : each.evidence[second] ?? 0)]);
    gaps.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const most = Math.max(...gaps.map((pair) => Math.abs(pair[1])), 1e-9);
    parts.push(table(`Evidence for ${first}${second === undefined ? "" : ` against ${second}`}, in nats`, ["feature", "value", "", "nats"],
      gaps.slice(0, MOST_SHOWN).map(([each, gap]) => [each.feature, each.value === null ? null : text(each.value), signedBar(gap / most, `${each.feature}: ${gap.toFixed(2)} nats`), el("span", { class: "figure" }, gap.toFixed(3))])));
  }
  if (answer.experts) {
    const labels = Object.keys(answer.probabilities);
    const shares = labels.slice(0, MOST_EXPERT_LABELS);
    const experts = [...answer.experts].sort((a, b) => b.weight - a.weight);
    const more = labels.length > shares.length ? `; ${figure(labels.length - shares.length)} labels are not shown` : "";
    parts.push(table(`Experts: their weights, and the probability of each label${more}`, ["expert", "weight", "", ...shares], experts.map((each) => [
      each.expert, percent(each.weight), bar(each.weight, `${each.expert}: weight ${percent(each.weight)}`), ...shares.map((label) => percent(opinion(each.probabilities, label)))])));
    if (answer.asleep.length) parts.push(el("p", { class: "soft" }, `Asleep, as they have not helped: ${answer.asleep.join(", ")}`));
  }
  parts.push(...leftOut(answer));
  return [el("h2", {}, `Prediction: ${answer.prediction ?? "none yet"}`), el("div", { class: "answers" }, parts)];
}

// How unexpected each value of an event is, beyond what its variable is on average.
function shownSurprise(answer) {
  const beyond = (each) => (each.nats ?? Infinity) - each.expected;
  const most = Math.max(...answer.surprise.map((each) => Math.abs(beyond(each))).filter(Number.isFinite), 1e-9);
  const rows = answer.surprise.slice(0, MOST_SHOWN).map((each) => [
    each.feature, each.value === null ? null : text(each.value), signedBar(Math.max(-1, Math.min(1, beyond(each) / most)), `${each.feature}: ${figure(beyond(each))} nats beyond the expected`), each.nats, each.expected]);
  const novel = answer.novel.length ? [el("p", { class: "soft" }, `Never learned before: ${answer.novel.join(", ")}`)] : [];
  return [el("h2", {}, `Surprise: ${figure(answer.total)} nats${answer.p_value === null ? "" : `, p-value ${answer.p_value.toPrecision(2)}`}`), el("div", { class: "answers" }, table("How unexpected each value is, in nats", ["variable", "value", "", "nats", "expected"], rows), ...novel)];
}

// A predicted number: its interval, and what each feature adds to it, or what each expert predicts.
function shownNumber(answer) {
  const parts = [];
  const [low, high] = answer.interval || [null, null];
  if (answer.prediction !== null) parts.push(el("p", {}, `${percent(answer.level)} interval: ${low === null ? "-\u221e" : figure(low)} to ${high === null ? "\u221e" : figure(high)}`));
  if (answer.contributions) {
    const most = Math.max(...answer.contributions.map((each) => Math.abs(each.contribution)), 1e-300);
    parts.push(table(`What each feature adds to the mean of all labels, ${figure(answer.mean)}`, ["feature", "value", "", "adds", "sd"], answer.contributions.slice(0, MOST_SHOWN).map((each) => [
      each.feature, each.value === null ? null : text(each.value), signedBar(each.contribution / most, `${each.feature}: ${figure(each.contribution)}`), each.contribution, each.sd])));
  } else if (answer.experts) {
    parts.push(table("Experts: their weights, and the number that each predicts", ["expert", "weight", "", "prediction"], answer.experts.map((each) => [
      each.expert, percent(each.weight), bar(each.weight, `${each.expert}: weight ${percent(each.weight)}`), each.prediction])));
  }
  parts.push(...leftOut(answer));
  return [el("h2", {}, `Prediction: ${answer.prediction === null ? "none yet" : figure(answer.prediction)}`), el("div", { class: "answers" }, parts)];
}

function leftOut(answer) {
  return [[answer.ignored, "No features of the model, ignored"], [answer.never_learned, "Values never learned, which tell nothing"]]
    .filter(([names]) => names && names.length).map(([names, words]) => el("p", { class: "soft" }, `${words}: ${names.join(", ")}`));
}

// An expert may have an opinion of one label alone, such as that the last one comes again; null for the others.
function opinion(probabilities, label) {
  const total = Object.values(probabilities).reduce((sum, p) => sum + p, 0);
  return probabilities[label] || (total > 0.999 ? 0 : null);
}

function nats(information) { return information === null || information === undefined ? "–" : `${information.toFixed(3)}\u00a0nats`; }

function text(value) {
  return typeof value === "string" ? value : value === true ? "true" : value === false ? "false" : Array.isArray(value) ? JSON.stringify(value) : String(value);
}
