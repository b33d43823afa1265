// The page: tabs, the token, and what each tab does with the events of the service.

import { time, visible } from "./dom.js";
import { Drift } from "./drift.js";
import { History } from "./history.js";
import { Model } from "./model.js";
import { Models } from "./models.js";
import { Now } from "./now.js";
import { Pipelines } from "./pipelines.js";
import { Quality } from "./quality.js";
import { currentToken, follow, get, setToken } from "./service.js";

const problem = document.getElementById("problem");
const state = document.getElementById("state");
const NAMES = ["now", "quality", "model", "history", "drift", "models", "pipelines"];

function report(error) {
  problem.hidden = !error;
  if (error) problem.textContent = visible(error.status === 401 ? `${error.message} Enter the token above.` : error.message);
}

const kinds = { now: Now, quality: Quality, model: Model, history: History, drift: Drift, models: Models, pipelines: Pipelines };
const tabs = Object.fromEntries(NAMES.map((name) => [name, new kinds[name](document.getElementById(`panel-${name}`), report, openEvents)]));
let current = null;

// Show the events of a filter in the history.
function openEvents(filter) {
  open("history", true);
  tabs.history.open(filter);
}

function open(name, isFocused = false) {
  if (name === current) return;
  current = name;
  report(null);
  for (const each of NAMES) {
    const button = document.getElementById(`tab-${each}`);
    button.setAttribute("aria-selected", String(each === name));
    button.tabIndex = each === name ? 0 : -1;
    document.getElementById(`panel-${each}`).hidden = each !== name;
    if (each === name && isFocused) button.focus();
  }
  history.replaceState(null, "", `#${name}`);
  tabs[name].show();
}

document.getElementById("tabs").addEventListener("click", (event) => {
  const button = event.target.closest("[role=tab]");
  if (button) open(button.id.slice(4));
});
document.getElementById("tabs").addEventListener("keydown", (event) => {
  const place = NAMES.indexOf(current);
  const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: NAMES.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  open(NAMES[(next + NAMES.length) % NAMES.length], true);
});

const field = document.getElementById("token");
field.value = currentToken();
field.addEventListener("change", () => { setToken(field.value); tabs[current].show(); });

// Figures that are not renewed are those of the past: the page names the moment, and why.
const SILENT_MILLISECONDS = 5000;
const stale = document.getElementById("stale");
let isFollowing = false, isConnected = false, isRunning = true, whyNot = "", heard = null;
function checkNews() {
  const since = heard === null ? "" : ` All figures are of ${new Date(heard).toLocaleTimeString()}.`;
  const reason = !isConnected ? `The service cannot be reached${whyNot ? `: ${whyNot}` : ""}.`
    : isFollowing && isRunning && Date.now() - heard > SILENT_MILLISECONDS ? "The pipeline has not reported for some seconds: it may hang, or be busy with a large batch." : "";
  const text = reason && heard !== null ? visible(reason + since) : "";
  if (stale.textContent !== text) stale.textContent = text;
  stale.hidden = !text;
  document.body.classList.toggle("stale", Boolean(text));
}
setInterval(checkNews, 1000);

const RECEIVERS = { view: ["now", "quality", "model", "models"], events: ["history"], drifts: ["drift"], outcome: ["history"] };
function receive(kind, data) {
  if (kind === "status") {
    heard = Date.now() - 1000 * (data.age_seconds ?? 0);
    isRunning = data.running !== false;
    tabs.now.status(data);
    const running = data.running === false ? "ended" : "running";
    if (data.report) {
      state.textContent = `a report, written ${time(data.report)}`;
      return;
    }
    state.textContent = `${running}, ${data.ready === false ? "not ready" : "ready"}`;
    state.dataset.state = data.running === false ? "ended" : data.ready === false ? "unready" : "ready";
  }
  if (kind === "status" && current === "pipelines" && !document.hidden) tabs.pipelines.refresh();
  if (document.hidden) return;
  for (const name of RECEIVERS[kind] || []) if (name === current) tabs[name].refresh();
}

follow(receive, (isNow, why) => {
  isConnected = isNow;
  whyNot = why || "";
  checkNews();
  if (isNow) return;
  state.textContent = visible(`not connected${why ? `: ${why}` : ""}`);
  state.dataset.state = "unready";
});
get("v1/model").then((model) => {
  document.getElementById("name").textContent = visible(model.name);
  isFollowing = model.follows === "pipeline"; // a replica reports only when its files change
  document.title = visible(`${model.name} – stream_bayes`);
}).catch(() => {});
open(NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : "now");
