// Elements made from data. Text only ever becomes text nodes and attributes, so nothing from a stream is markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
  return element;
}

// Characters without a shape, which would hide or turn around what is around them, as escapes.
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Cs}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\uffff]/gu,
    (character) => "\\u" + character.codePointAt(0).toString(16).padStart(4, "0"));
}

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child));
}

// Rows are lists of cells; a cell is text, a number, null or a node. Columns of numbers stand to the right.
// `kind` is a further class: "cards" for rows that a phone shows as cards.
export function table(caption, headings, rows, kind = "") {
  const numeric = headings.map((_, place) => rows.length > 0 && rows.every((row) => isFigure(row[place])));
  return el("div", { class: `scroll ${kind}`, tabindex: 0, role: "region", "aria-label": caption },
    el("table", {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, headings.map((each, place) => el("th", { scope: "col", class: numeric[place] ? "number" : "name" }, each)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) =>
        el("td", { class: numeric[place] ? "number" : "name", "data-heading": headings[place] }, cell instanceof Node ? cell : typeof cell === "number" ? figure(cell) : cell ?? "–")))))));
}

function isFigure(cell) {
  if (cell instanceof Node) return cell.nodeType === Node.ELEMENT_NODE && cell.classList.contains("figure");
  return cell === null || cell === undefined || typeof cell === "number" || /^([\d.,-]+\u00a0%|–)$/.test(cell);
}

export function bar(share, label) {
  const full = el("i");
  full.style.width = `${100 * Math.min(Math.max(share || 0, 0), 1)}%`;
  return el("span", { class: "bar", role: "img", "aria-label": label }, full);
}

// A bar to the right for evidence for, to the left for evidence against; `share` from -1 to 1.
export function signedBar(share, label) {
  const full = el("i", { class: share < 0 ? "against" : "" });
  const length = 50 * Math.min(Math.abs(share), 1);
  full.style.width = `${length}%`;
  full.style.left = share < 0 ? `${50 - length}%` : "50%";
  return el("span", { class: "bar signed", role: "img", "aria-label": label }, full);
}

export function figure(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e9) return number.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 4 });
  if (Number.isInteger(number)) return number.toLocaleString("en");
  return size >= 1000 ? Math.round(number).toLocaleString("en") : size < 0.001 && size > 0 ? number.toExponential(1) : String(Number(number.toPrecision(4)));
}

export function percent(share) {
  if (share === null || share === undefined) return "–";
  return `${(100 * share).toFixed(1)}\u00a0%`;
}

export function size(bytes) {
  const step = bytes < 1e3 ? 0 : bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3;
  return `${Number((bytes / 1000 ** step).toPrecision(3))}\u00a0${["bytes", "kB", "MB", "GB"][step]}`;
}

export function time(seconds) {
  return seconds === null || seconds === undefined ? "–" : new Date(1000 * seconds).toLocaleString();
}

export function ago(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return `${Math.round(seconds / 3600)} h ago`;
}

// Call `work` at most once in `pause` milliseconds, and once after the last call.
export function throttled(work, pause) {
  let last = -Infinity, timer = null;
  return () => {
    if (timer !== null) return;
    timer = setTimeout(() => { timer = null; last = performance.now(); work(); }, Math.max(0, last + pause - performance.now()));
  };
}
