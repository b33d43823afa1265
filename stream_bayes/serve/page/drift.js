// Drift: a time line of warnings, drifts, trials and swaps, and what each change gained.

import { bar, el, figure, percent, replace, svg, table, throttled } from "./dom.js";
import { get, getText } from "./service.js";

const KINDS = ["warning", "drift", "searched", "adopted", "refused"];
const MOST = 200;

export class Drift {
  constructor(panel, report) {
    this.report = report;
    this.entries = [];
    this.line = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Time line" });
    this.list = el("div");
    this.pictures = el("div", { class: "pictures" });
    this.rest = el("div", {}, el("h2", {}, "Changes of structure"), el("p", { class: "soft" }, "Added edges are blue, reversed ones orange, removed ones dashed."), this.pictures, el("h2", {}, "Log"), this.list);
    this.features = new Features(report);
    panel.append(el("h2", {}, "Time line"), this.line, this.features.element, this.rest);
    this.refresh = throttled(() => this.load(), 1000);
  }

  async show() { await Promise.all([this.load(), this.features.load()]); }

  async load() {
    try {
      const [log, now] = await Promise.all([get("v1/drifts"), get("v1/evaluation")]);
      this.entries = log.entries;
      this.processed = (now.status || {}).processed || 0;
      this.draw();
    } catch (error) { this.report(error); }
  }

  draw() {
    const entries = this.entries;
    this.rest.hidden = !entries.length;
    if (!entries.length) {
      replace(this.line, el("p", { class: "soft" }, "No drift was found. A pipeline looks for drifts if its file has [drift]."));
      return;
    }
    replace(this.line, timeline(entries, this.processed));
    const rows = entries.slice(-MOST).reverse().map((entry) => [
      entry.event, entry.what, entry.candidate, entry.since,
      entry.score ? el("span", { class: "figure" }, `${loss(entry.score.before)} → ${loss(entry.score.after)}`) : null,
      entry.score && (entry.what === "adopted" || entry.what === "refused") ? el("span", { class: "figure" }, loss(entry.score.before - entry.score.after)) : null, entry.why,
    ]);
    replace(this.list, table(`The newest first${entries.length > MOST ? `; ${figure(entries.length - MOST)} older entries are not shown` : ""}`,
      ["event", "what", "candidate", "since event", "loss before → after", "gain", "why"], rows));
    this.drawPictures(entries.filter((entry) => entry.structure && ((entry.structure.added || []).length || (entry.structure.removed || []).length)).slice(-6).reverse());
  }

  async drawPictures(changed) {
    const numbers = changed.map((entry) => entry.number).join();
    if (numbers === this.numbers) return;
    this.numbers = numbers;
    const drawn = await Promise.all(changed.map(async (entry) => {
      const added = (entry.structure.added || []).length;
      const words = `${added} ${added === 1 ? "edge" : "edges"} added, ${(entry.structure.removed || []).length} removed`;
      try {
        const graphs = await Promise.all(["before", "after"].map(async (graph) => {
          const picture = await getText(`v1/drifts/picture?number=${entry.number}&graph=${graph}`);
          return el("div", {}, el("p", { class: "soft" }, graph), el("img", { class: "picture", alt: `Structure ${graph} event ${entry.event}: ${words}`, src: `data:image/svg+xml,${encodeURIComponent(picture)}` }));
        }));
        return el("figure", {}, el("div", { class: "pictures" }, graphs),
          el("figcaption", { class: "soft" }, `Event ${figure(entry.event)}, ${entry.what}: ${words}.${entry.score ? ` Loss ${loss(entry.score.before)} → ${loss(entry.score.after)}.` : ""}`));
      } catch (error) {
        return el("p", { class: "soft" }, `Event ${figure(entry.event)}: ${words}; ${error.message}`);
      }
    }));
    replace(this.pictures, drawn.length ? drawn : el("p", { class: "soft" }, "None."));
  }
}

function loss(score) { return typeof score === "number" ? score.toFixed(3) : "–"; }

function timeline(entries, processed) {
  const width = 920, left = 80, row = 24, last = Math.max(...entries.map((entry) => entry.event), processed, 1);
  const drawing = svg("svg", { class: "timeline", viewBox: `0 0 ${width} ${row * KINDS.length + 24}`, role: "img",
    "aria-label": `Time line of ${entries.length} entries up to event ${last}` });
  KINDS.forEach((kind, place) => {
    const y = row * (place + 0.5);
    drawing.append(svg("text", { x: 0, y: y + 4, "font-size": 12 }, kind), svg("line", { x1: left, x2: width - 8, y1: y, y2: y }));
  });
  for (const entry of entries) {
    const kind = KINDS.includes(entry.what) ? entry.what : entry.what === "unfinished" ? "searched" : null;
    if (kind === null) continue;
    const x = left + (width - left - 14) * (entry.event / last), y = row * (KINDS.indexOf(kind) + 0.5);
    drawing.append(svg("rect", { class: entry.what, x: x - 3, y: y - 7, width: 6, height: 14, rx: 1, "data-what": entry.what }, svg("title", {}, `event ${figure(entry.event)}: ${entry.what}`)));
  }
  const y = row * KINDS.length + 16;
  for (let tick = 0; tick <= 4; tick++) {
    const x = left + (width - left - 14) * tick / 4;
    drawing.append(svg("text", { x, y, "font-size": 11, "text-anchor": tick === 0 ? "start" : tick === 4 ? "end" : "middle" }, tick === 0 ? "event 0" : figure(Math.round(last * tick / 4))));
  }
  return drawing;
}

// Each feature, by its values in a reference and now. The service tests them; nothing is computed here.
class Features {
  constructor(report) {
    this.report = report;
    this.against = el("select", { id: "against", onchange: () => this.load() },
      el("option", { value: "first" }, "the first events of the service"), el("option", { value: "older" }, "the older half of the kept events"));
    this.words = el("p", { class: "soft", role: "status" });
    this.list = el("div");
    this.element = el("div", {}, el("h2", {}, "Features: a reference against now"),
      el("div", { class: "toolbar" }, el("label", { for: "against" }, "Reference"), this.against, el("button", { class: "act", type: "button", onclick: () => this.load() }, "Test again")), this.words, this.list);
  }

  async load() {
    try {
      const answer = await get(`v1/drifts/features?against=${this.against.value}`);
      if (answer.reason) {
        this.words.textContent = `Nothing to compare: ${answer.reason}.${answer.against === "first" ? " The reference is the first half of as many events as are kept; choose the older half meanwhile." : ""}`;
        replace(this.list);
        return;
      }
      const drifted = answer.features.filter((each) => each.has_drifted).length;
      const notes = [`${figure(drifted)} of ${figure(answer.features.length)} features have drifted: ${figure(answer.reference.events)} events against the newest ${figure(answer.now.events)}`,
        `p-values are adjusted for all tests together (Benjamini and Hochberg, ${percent(answer.level)} false discoveries), and too small if events resemble their neighbours`];
      if (answer.left_out) notes.push(`${figure(answer.left_out)} events came too fast to be kept`);
      if (answer.features_left_out) notes.push(`${figure(answer.features_left_out)} rarer features are left out`);
      this.words.textContent = `${notes.join("; ")}.`;
      const open = new Set([...this.list.querySelectorAll("details[open]")].map((each) => each.dataset.name));
      replace(this.list, answer.features.map((each) => el("details", { "data-name": each.name, open: open.has(each.name) }, el("summary", {}, summary(each)), detail(each))));
    } catch (error) { this.report(error); }
  }
}

function summary(feature) {
  const words = [feature.p === null ? "not tested" : `p ${probability(feature.p)}`];
  if (feature.missing.before || feature.missing.now) words.push(`missing ${percent(feature.missing.before)} → ${percent(feature.missing.now)}${feature.missing.p === null ? "" : `, p ${probability(feature.missing.p)}`}`);
  if (feature.unseen) words.push(`unseen ${percent(feature.unseen)}`);
  return el("span", { class: "feature" }, el("span", {}, feature.name), bar(feature.distance, `${feature.name}: distance ${percent(feature.distance)}`),
    el("span", { class: feature.has_drifted ? "wrong" : "soft" }, `${feature.has_drifted ? "drifted: " : ""}${words.join("; ")}`));
}

function detail(feature) {
  const share = (p, words) => el("span", {}, bar(p, words), ` ${percent(p)}`);
  return table(`${feature.name}: ${feature.kind === "numeric" ? "shares of numbers by bin" : "shares of values"}`, ["value", "reference", "now"], feature.shares.map((each) => {
    const value = each.value === null ? "all others" : feature.kind === "numeric" ? `${figure(each.value[0])} to ${figure(each.value[1])}` : typeof each.value === "string" ? each.value : JSON.stringify(each.value);
    return [value, share(each.before, `${value} in the reference`), share(each.now, `${value} now`)];
  }));
}

function probability(p) { return p < 0.001 ? "< 0.001" : p.toFixed(3); }
