// The range of time that all charts show together: all of it, the newest so many seconds, or a part that was dragged.

import { el } from "./dom.js";

const CHOICES = [["", "all"], ["60", "newest minute"], ["300", "newest 5 minutes"], ["3600", "newest hour"], ["21600", "newest 6 hours"], ["86400", "newest day"]];
const LEAST_SECONDS = 30; // so that the first points have times beside them

class TimeRange {
  constructor() {
    this.seconds = null;
    this.part = null; // [from, to], dragged in a chart
    this.charts = new Set();
    this.bars = new Set();
  }

  // The part of these times to show: [from, to] in seconds since 1970.
  spanOf(times) {
    const high = times.length ? times[times.length - 1] : Date.now() / 1000;
    if (this.part) return this.part;
    if (this.seconds !== null) return [high - this.seconds, high];
    return [times.length ? Math.min(times[0], high - LEAST_SECONDS) : high - LEAST_SECONDS, high];
  }

  newest(seconds) { this.seconds = seconds; this.part = null; this.redraw(); }

  zoom(from, to) { this.part = [from, to]; this.redraw(); }

  redraw() {
    for (const bar of this.bars) bar();
    for (const chart of this.charts) chart.redraw();
  }

  // A choice of the range, the same on every tab that has one.
  bar(id) {
    const choice = el("select", { id, onchange: () => this.newest(choice.value === "" ? null : Number(choice.value)) },
      CHOICES.map(([value, words]) => el("option", { value }, words)));
    const zoomed = el("span", { class: "soft", role: "status" });
    const back = el("button", { class: "act", type: "button", onclick: () => this.newest(this.seconds) }, "Zoom out");
    this.bars.add(() => {
      choice.value = this.seconds === null ? "" : String(this.seconds);
      back.hidden = !this.part;
      zoomed.textContent = this.part ? `${clock(this.part[0])} to ${clock(this.part[1])}` : "Drag in a chart to zoom.";
    });
    this.redraw();
    return el("div", { class: "toolbar" }, el("label", { for: id }, "Time"), choice, back, zoomed);
  }
}

function clock(seconds) { return new Date(1000 * seconds).toLocaleTimeString(); }

export const range = new TimeRange();
