// Scenarios: kept sets of evidence, whose posteriors of one variable are compared side by side.

import { bar, el, figure, percent, replace, table } from "./dom.js";
import { post } from "./service.js";

const MOST = 6;

export class Scenarios {
  constructor(report) {
    this.report = report;
    this.kept = []; // maps of a variable to its value
    this.variable = el("select", { id: "compared", onchange: () => this.refresh() });
    this.list = el("div");
    this.element = el("div", { hidden: true }, el("h3", {}, "Scenarios"),
      el("div", { class: "toolbar" }, el("label", { for: "compared" }, "Compare"), this.variable,
        el("button", { class: "act", type: "button", onclick: () => { this.kept = []; this.refresh(); } }, "Remove all")), this.list);
  }

  offer(variables) {
    const chosen = this.variable.value;
    replace(this.variable, variables.map((each) => el("option", { value: each }, each)));
    if (variables.includes(chosen)) this.variable.value = chosen;
  }

  // Keep the evidence of now; the oldest scenario makes room.
  keep(evidence) {
    this.kept = [...this.kept, new Map(evidence)].slice(-MOST);
    return this.refresh();
  }

  async refresh() {
    this.element.hidden = !this.kept.length;
    if (!this.kept.length) return;
    const number = this.asked = (this.asked || 0) + 1, name = this.variable.value, kept = this.kept;
    try {
      const answers = await Promise.all(kept.map((evidence) => post("v1/query", { evidence: Object.fromEntries(evidence), targets: [name] })));
      if (number !== this.asked) return; // a newer choice is on its way
      const shares = answers.map((answer) => answer.posteriors[name].probabilities);
      const values = [...new Set(shares.flatMap(Object.keys))];
      const titles = kept.map((evidence) => [...evidence].map(([variable, value]) => `${variable} is ${value}`).join(", ") || "no evidence");
      const rows = values.map((value) => [`${name} is ${value}`, ...shares.map((each, place) => el("span", {}, bar(each[value] || 0, `${value}, ${titles[place]}`), ` ${percent(each[value] || 0)}`))]);
      replace(this.list, table(`${name} in each scenario`, ["", ...titles], [...rows, ["the evidence", ...answers.map((answer) => likelihood(answer.evidence))]]));
    } catch (error) { this.report(error); }
  }
}

// How probable evidence is. Of numbers there is a density, which compares scenarios of the same variables alone.
export function likelihood(evidence) {
  if (!evidence || evidence.log_probability === null) return "–";
  const nats = `${figure(-evidence.log_probability)} nats`;
  return evidence.is_density ? `surprise of ${nats} (a density)` : `probability ${evidence.log_probability > Math.log(0.001) ? percent(Math.exp(evidence.log_probability)) : Math.exp(evidence.log_probability).toExponential(1)}, ${nats}`;
}
