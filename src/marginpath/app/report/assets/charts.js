// The head of the page, the readout of the step, and the three charts.

document.title = `${data.title} – marginpath`;
$("title").append(data.title, make("small", data.target ? `predicting ${data.target}` : ""));
$("reason").textContent = data.missing ? `${data.reason} ${data.missing}` : data.reason;
for (const [name, value] of data.settings) {
  const pair = make("div");
  pair.append(make("dt", name), make("dd", value));
  $("settings").append(pair);
}
const LINES = { folds: 0, test: 1, training: 7 };
const errors = data.judged.map((one) => ({ id: one.kind, name: `${one.kind} error`, values: one.error, tint: LINES[one.kind] }));
if (data.folds) errors.unshift({ id: "cv", name: `${data.folds.how} ${data.folds.name}`, values: data.folds.mean, spread: data.folds.spread, tint: LINES.folds });
const read = {};
const tile = (id, name, tint) => {
  const pair = make("div", "", { class: `tile-${id}` }), dt = make("dt"), dd = make("dd", "", { id: `out-${id}` });
  if (tint !== undefined) dt.append(make("i", "", { "data-tint": tint }));
  dt.append(name);
  pair.append(dt, dd);
  $("readout").append(pair);
  read[id] = dd;
};
tile("step", "step");
tile("C", "C = 1/λ");
errors.forEach((line) => tile(line.id, line.id === "cv" && data.folds.how === "cross-validated" ? `CV ${data.folds.name}` : line.name, line.tint));
tile("margin", "maximum margin in");
tile("support", "support vectors");
tile("gap", "duality gap");

const plots = [];
const markers = {
  hooks: {
    draw: (u) => {
      const c = u.ctx, { top, height } = u.bbox, ratio = devicePixelRatio;
      const line = (t, stroke, width, dash) => {
        const x = Math.round(u.valToPos(data.steps[t], "x", true));
        c.save();
        c.strokeStyle = stroke; c.lineWidth = width * ratio; c.setLineDash(dash.map((d) => d * ratio));
        c.beginPath(); c.moveTo(x, top); c.lineTo(x, top + height); c.stroke();
        c.restore();
      };
      data.inexact.forEach((over, t) => { if (over) line(t, colour(1) + "40", 5, []); });
      line(data.chosen, css("--quiet"), 1.5, [2, 3]);
      line(state.step, css("--ink"), 1.5, []);
      u.series.forEach((series, i) => {
        if (!i || !series.dot || !series.show) return;
        const value = u.data[i][state.step];
        if (value === null) return;
        c.beginPath();
        c.arc(u.valToPos(data.steps[state.step], "x", true), u.valToPos(value, "y", true), 4.2 * ratio, 0, 7);
        c.fillStyle = series.dot(); c.fill();
        c.setLineDash([]); c.lineWidth = 1.5 * ratio; c.strokeStyle = css("--card"); c.stroke();
      });
    },
  },
};
const plot = (id, series, bands, values, format, range) => {
  const box = $(id);
  const axis = { stroke: () => css("--quiet"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const logarithmic = T < data.steps[T - 1];
  const u = new uPlot({
    width: Math.max(200, box.clientWidth), height: 150, legend: { show: false }, cursor: { show: false }, padding: [8, 10, 0, 0],
    scales: { x: { time: false, distr: logarithmic ? 3 : 1, range: [data.steps[0], data.steps[T - 1] + (T === 1 ? 1 : 0)] }, y: { range } },
    axes: [
      { ...axis, size: 26, gap: 3, grid: { show: false }, values: (_, at) => at.map((v) => (v !== null && Number.isInteger(v) ? v : "")) },
      { ...axis, size: 52, gap: 4, values: (_, at) => at.map(format), space: 28 },
    ],
    series: [{}, ...series], bands, plugins: [markers],
  }, [data.steps, ...values()], box);
  const pick = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = u.over.getBoundingClientRect();
    go(u.posToIdx(Math.min(box.width, Math.max(0, event.clientX - box.left))));
  };
  u.over.addEventListener("pointerdown", pick);
  u.over.addEventListener("pointermove", pick);
  new ResizeObserver(() => box.clientWidth && u.setSize({ width: box.clientWidth, height: 150 })).observe(box);
  plots.push({ u, values });
  return u;
};
const line = (tint, extra = {}) => ({ stroke: () => colour(tint), dot: () => colour(tint), width: 2, points: { show: false }, ...extra });
const edge = { stroke: "transparent", width: 0, points: { show: false } };
const cvBand = Boolean(data.folds);
const highest = Math.max(...errors.flatMap((e) => e.values.map((v, i) => v + (e.spread ? e.spread[i] : 0))));
plot(
  "error-chart",
  [...errors.map((e) => line(e.tint, e.id === "training" ? { width: 1.5, dash: [5, 4] } : {})), ...(cvBand ? [edge, edge] : [])],
  cvBand ? [{ series: [errors.length + 1, errors.length + 2], fill: () => colour(0) + "26" }] : [],
  () => [...errors.map((e) => e.values), ...(cvBand ? [1, -1].map((s) => errors[0].values.map((v, i) => Math.max(0, v + s * errors[0].spread[i]))) : [])],
  (v) => `${+(100 * v).toFixed(1)}%`,
  [0, Math.max(0.01, Math.min(1, highest) * 1.06)],
);
const marginTop = () => {
  const known = data.margin.upper[state.margin].filter((v) => v !== null);
  return Math.max(1e-9, 1.08 * Math.max(...known.slice(0, 1), data.margin.lower[state.margin][T - 1]));
};
plot("margin-chart", [line(2), line(2)], [{ series: [1, 2], fill: () => colour(2) + "2b" }],
  () => [data.margin.upper[state.margin], data.margin.lower[state.margin]], short, () => [0, marginTop()]);
plot("support-chart", [line(3), line(4, { dash: [5, 4] })], [],
  () => [data.support.all, data.support.bound], (v) => v.toLocaleString("en"), [0, Math.max(...data.support.all, 1) * 1.06]);

const legendLine = (tint, name, dash = "") => {
  const li = make("li"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 14");
  svg.setAttribute("aria-hidden", "true");
  svg.innerHTML = `<path d="M0 7h16" fill="none" stroke-width="2.4" stroke-dasharray="${dash}" style="stroke:${tint}"/>`;
  li.append(svg, name);
  return li;
};
const legends = () => {
  const inexact = data.inexact.some(Boolean) ? [legendLine(colour(1) + "80", "gap over path_tol")] : [];
  $("error-legend").replaceChildren(...errors.map((e) => legendLine(colour(e.tint), e.id === "cv" ? `${data.folds.how} ± sd` : e.id, e.id === "training" ? "4 3" : "")), ...inexact);
  $("support-legend").replaceChildren(legendLine(colour(3), "all"), legendLine(colour(4), "at the bound", "4 3"));
  const items = data.classes.map((name, k) => { const li = make("li"); li.append(symbol(k), name); return li; });
  const kinds = [["filled: support vector", true], ["hollow: support vector at the bound", false]].map(([text, fill]) => {
    const li = make("li"); li.append(symbol(0, fill), text); return li;
  });
  $("legend").replaceChildren(...items, legendLine("var(--ink)", "boundary"), legendLine("var(--quiet)", twoClasses ? "margins, f = ±1" : "margins, f = 1", "4 3"), ...kinds);
  document.querySelectorAll("[data-tint]").forEach((dot) => { dot.style.background = colour(+dot.dataset.tint); });
};
