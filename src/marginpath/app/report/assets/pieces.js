// What the page is made of: its data, its colours, and small pieces that the rest uses.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const T = data.steps.length, K = data.classes.length, twoClasses = K === 2;
const dark = matchMedia("(prefers-color-scheme: dark)");
// Okabe and Ito's colours, told apart by all kinds of colour vision; lighter ones on a dark ground.
const COLOURS = {
  false: ["#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#3399CC", "#7A5230", "#5A5A5A"],
  true: ["#56B4E9", "#FF8A4C", "#2CC79B", "#E08CC4", "#F0C040", "#8AD0FF", "#C79A6B", "#B5B5B5"],
};
const colour = (k) => COLOURS[dark.matches][k % 8];
let theme = {};
const css = (name) => (theme[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim());
const state = { step: data.chosen, plane: 0, judged: 0, margin: 0, point: null, sort: "contradiction", all: false };

const make = (tag, text = "", attributes = {}) => {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const percent = (x) => (x === null ? "–" : (100 * x).toFixed(1) + "%");
const short = (x) => (x === null ? "∞" : Math.abs(x) >= 1e5 || (x && Math.abs(x) < 1e-3) ? x.toExponential(1) : String(+x.toPrecision(3)));
const gap = (t) => (data.gap[t] ? data.gap[t].toExponential(1) : "0") + (data.inexact[t] ? " !" : "");
const interval = (k, t) => {
  // rounded outwards, so that it stays true
  const [low, high] = [data.margin.lower[k][t], data.margin.upper[k][t]];
  const size = high === null ? 1 : high > low ? Math.min(high, 10 * (high - low)) : high || 1;
  const places = Math.min(8, Math.max(2, 2 - Math.floor(Math.log10(size)))), unit = 10 ** places;
  const text = (x, round) => (round(+(x * unit).toPrecision(12)) / unit).toFixed(places);
  return `${low ? text(low, Math.floor) : "0"} … ${high === null ? "∞" : text(high, Math.ceil)}`;
};
const kind = (k) => (k + Math.floor(k / 8)) % 4;
const SHAPES = [
  (c, x, y, r) => c.arc(x, y, r, 0, 7),
  (c, x, y, r) => c.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r),
  (c, x, y, r) => { c.moveTo(x, y - 1.25 * r); c.lineTo(x + 1.15 * r, y + 0.85 * r); c.lineTo(x - 1.15 * r, y + 0.85 * r); c.closePath(); },
  (c, x, y, r) => { c.moveTo(x, y - 1.35 * r); c.lineTo(x + 1.2 * r, y); c.lineTo(x, y + 1.35 * r); c.lineTo(x - 1.2 * r, y); c.closePath(); },
];
const shape = (c, k, x, y, r) => { c.beginPath(); SHAPES[kind(k)](c, x, y, r); };
const symbol = (k, fill = true) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 12 12");
  svg.setAttribute("aria-hidden", "true");
  const d = ["M6 1.5a4.5 4.5 0 1 0 .01 0", "M2 2h8v8H2z", "M6 1l5.2 9.5H.8z", "M6 .6L11 6l-5 5.4L1 6z"][kind(k)];
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", d);
  path.setAttribute("style", `fill:${fill ? colour(k) : "none"};stroke:${colour(k)};stroke-width:1.6`);
  svg.append(path);
  return svg;
};
const className = (k) => {
  const span = make("span", "", { class: "label" });
  span.append(symbol(k), data.classes[k]);
  return span;
};
const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};
const download = (name, rows) => {
  const cell = (x) => (/[",\n]/.test(String(x)) ? `"${String(x).replaceAll('"', '""')}"` : String(x ?? ""));
  const text = rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
  const link = make("a", "", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
const choices = (select, names, set) => {
  names.forEach((name, i) => select.append(make("option", name, { value: i })));
  select.addEventListener("change", () => set(+select.value));
};
