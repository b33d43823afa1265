// Pipelines: this one beside those of other services, which the service asks for their status.

import { el, figure, percent, replace, table, throttled } from "./dom.js";
import { lagTile } from "./now.js";
import { get } from "./service.js";

export class Pipelines {
  constructor(panel, report) {
    this.report = report;
    this.list = el("div");
    panel.append(el("h2", {}, "Pipelines side by side"), this.list);
    this.refresh = throttled(() => this.load(), 3000);
  }

  async show() { await this.load(); }

  async load() {
    try {
      const { services } = await get("v1/services");
      replace(this.list, table("Measures are those of the newest events, older ones fading", ["pipeline", "state", "events", "a second", "lag", "accuracy", "log-loss", "RMSE", "dead letters"], services.map(row)),
        services.length > 1 ? null : el("p", { class: "soft" }, "Add the services of other pipelines to the file of this one, as [[serve.others]] with a url."));
    } catch (error) { this.report(error); }
  }
}

function row({ address, name, status, problem }) {
  const measures = status.measures || {};
  const isLink = /^https?:\/\//.test(address);
  const state = problem ?? (status.running === false ? "ended" : status.ready === false ? "not ready" : status.time === undefined ? "no events yet" : "running");
  const dead = Object.values(status.dead || {}).reduce((sum, count) => sum + count, 0);
  return [
    isLink ? el("a", { href: address, rel: "noreferrer" }, name ?? address) : el("strong", {}, `${name}, this one`),
    el("span", { class: problem || status.ready === false ? "wrong" : "" }, state), status.processed ?? null, status.processed === undefined ? null : Math.round(status.events_per_second || 0),
    problem ? null : lagTile(status.lag || [], status.lag_units || {})[0],
    measures.accuracy === undefined ? null : percent(measures.accuracy), measures.log_loss ?? null, measures.rmse ?? null, problem ? null : dead,
  ];
}
