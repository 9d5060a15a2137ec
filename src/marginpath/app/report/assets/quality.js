// How good the kept step is on rows it did not see: classes, probabilities, a threshold with its costs, columns.

const SVG = "http://www.w3.org/2000/svg";
const drawn = (tag, attributes, text = "") => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
};
const figure = (id, width, height, label) => {
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "figure" });
  $(id).replaceChildren(svg);
  $(id).setAttribute("aria-label", label);
  return svg;
};
const wide = (id, most) => Math.max(240, Math.min(most, $(id).parentElement.clientWidth - 26));
const pairs = (id, items) => $(id).replaceChildren(...items.map(([name, value]) => {
  const pair = make("div");
  pair.append(make("dt", name), make("dd", value));
  return pair;
}));
const held = data.quality;

const rate = (value, tint) => {
  const td = make("td", "", { class: "n rate" }), bar = make("i");
  bar.style.width = `${100 * (value ?? 0)}%`;
  bar.style.background = `rgba(var(${tint}), .3)`;
  td.append(bar, make("span", percent(value)));
  return td;
};
const drawQuality = () => {
  $("quality-card").hidden = !held;
  if (!held) return;
  $("quality-of").textContent = `${held.name}, kept step, ${held.rows.toLocaleString("en")} rows`;
  pairs("quality-readout", [
    ["error", percent(held.error)], ["balanced accuracy", percent(held.balanced)],
    ["area under ROC", held.auc === null ? "–" : held.auc.toFixed(3)],
  ]);
  const head = make("thead"), body = make("tbody"), tr = make("tr");
  tr.append(...["class", "rows", "recall", "precision"].map((name, i) => make("th", name, { scope: "col", class: i ? "n" : "" })));
  head.append(tr);
  data.classes.forEach((name, k) => {
    const row = make("tr"), first = make("th", "", { scope: "row" });
    first.append(className(k));
    row.append(first, make("td", held.counts[k].toLocaleString("en"), { class: "n" }), rate(held.recall[k], "--good"), rate(held.precision[k], "--good"));
    body.append(row);
  });
  $("quality").replaceChildren(head, body);
};

const drawImportance = () => {
  $("importance-card").hidden = !data.importance;
  if (!data.importance) return;
  const { bars, score } = data.importance, top = Math.max(1e-9, ...bars.map(([, mean, spread]) => mean + spread));
  $("importance").replaceChildren(...bars.map(([name, mean, spread]) => {
    const row = make("div", "", { class: "bar" }), track = make("span", "", { class: "track-bar" });
    const share = (x) => `${Math.min(100, Math.max(0, (100 * x) / top))}%`;
    const fill = make("i"), whisker = make("b");
    fill.style.width = share(mean);
    fill.style.background = colour(0);
    whisker.style.left = share(mean - spread);
    whisker.style.width = `calc(${share(mean + spread)} - ${share(mean - spread)})`;
    track.append(fill, whisker);
    row.append(make("span", name, { class: "name", title: name }), track, make("span", `${mean.toFixed(3)} ± ${spread.toFixed(3)}`, { class: "value" }));
    return row;
  }));
  $("importance-note").textContent = `The ${score} that held-out rows lose where a column is shuffled among them, ± standard deviation. Columns that say the same share their worth.`;
};

const drawCalibration = () => {
  const groups = held && held.calibration;
  $("calibration-card").hidden = !groups;
  if (!groups) return;
  const W = wide("calibration", 460), H = 250, x = (p) => 40 + p * (W - 62), y = (p) => H - 34 - p * (H - 46);
  const svg = figure("calibration", W, H, "Observed shares against predicted probabilities");
  for (const p of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(drawn("line", { x1: x(0), x2: x(1), y1: y(p), y2: y(p), class: "grid" }));
    svg.append(drawn("text", { x: x(0) - 6, y: y(p) + 4, "text-anchor": "end" }, `${100 * p}%`));
    svg.append(drawn("text", { x: x(p), y: H - 18, "text-anchor": "middle" }, `${100 * p}%`));
  }
  svg.append(drawn("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }));
  svg.append(drawn("polyline", { points: groups.map(([p, q]) => `${x(p)},${y(q)}`).join(" "), fill: "none", stroke: colour(0), "stroke-width": 2 }));
  const most = Math.max(...groups.map(([, , n]) => n));
  for (const [p, q, n] of groups) {
    const dot = drawn("circle", { cx: x(p), cy: y(q), r: 2.5 + 3 * Math.sqrt(n / most), fill: colour(0) });
    dot.append(drawn("title", {}, `said ${percent(p)}, was ${percent(q)} of ${n} rows`));
    svg.append(dot);
  }
  svg.append(drawn("text", { x: x(0.5), y: H - 2, "text-anchor": "middle" }, "probability that is said"));
  const what = twoClasses ? `the class ${data.classes[1]}` : "the most probable class";
  $("calibration-note").textContent = `How often ${what} is right, against how probable it is said to be, of ${held.name}. On the dashed line, probabilities are what they say.`;
};

const drawFewer = () => {
  const fewer = data.fewer;
  $("fewer-card").hidden = !fewer;
  if (!fewer) return;
  const lines = [...fewer.lines.map(({ name, error }, i) => [name, error, i, ""]), ["labels that change", fewer.changed, 7, "5 4"]];
  const highest = Math.max(0.01, ...lines.flatMap(([, values]) => values));
  const unit = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((step) => highest <= 4 * step) ?? 0.25, top = unit * Math.ceil(highest / unit);
  const first = fewer.vectors[0], all = fewer.vectors[fewer.vectors.length - 1];
  const W = wide("fewer", 1180), H = 220, share = (n) => Math.log(n / first) / Math.log(all / first);
  const x = (n) => 46 + share(n) * (W - 76), y = (p) => H - 40 - (p / top) * (H - 54);
  const svg = figure("fewer", W, H, "Error against the number of vectors; the numbers are in the marks");
  for (let p = 0; p < top + unit / 2; p += unit) {
    svg.append(drawn("line", { x1: x(first), x2: x(all), y1: y(p), y2: y(p), class: "grid" }));
    svg.append(drawn("text", { x: x(first) - 6, y: y(p) + 4, "text-anchor": "end" }, `${+(100 * p).toFixed(1)}%`));
  }
  let free = 0;
  for (const n of fewer.vectors) {
    if (n !== all && (x(n) < free || x(n) > x(all) - 36)) continue; // no room
    svg.append(drawn("text", { x: x(n), y: H - 24, "text-anchor": "middle" }, n.toLocaleString("en")));
    free = x(n) + 36;
  }
  for (const [name, values, tint, dash] of lines) {
    svg.append(drawn("polyline", { points: values.map((v, i) => `${x(fewer.vectors[i])},${y(v)}`).join(" "), fill: "none", stroke: colour(tint), "stroke-width": 2, "stroke-dasharray": dash }));
    values.forEach((v, i) => {
      const dot = drawn("circle", { cx: x(fewer.vectors[i]), cy: y(v), r: 3.5, fill: colour(tint) });
      dot.append(drawn("title", {}, `${name}: ${percent(v)} with ${fewer.vectors[i].toLocaleString("en")} vectors`));
      svg.append(dot);
    });
  }
  svg.append(drawn("text", { x: (x(first) + x(all)) / 2, y: H - 6, "text-anchor": "middle" }, "vectors"));
  $("fewer-legend").replaceChildren(...lines.map(([name, , tint, dash]) => legendLine(colour(tint), name, dash)));
  $("fewer-note").textContent = "The error of the kept step with fewer vectors and refitted coefficients, and the share of the rows fitted whose label is then another one; on the right, all vectors. What the folds say is a little kind to fewer vectors, as these were chosen with all rows. In Python, compress(n) makes such a classifier, and by default moves its vectors too.";
};

const rows = held && held.threshold;
const cumulated = rows ? rows.so.reduce((sums, so) => { sums.push(sums[sums.length - 1] + so); return sums; }, [0]) : [];
const flagged = (limit) => {
  // the rows of a higher probability come first
  let low = 0, high = rows.chance.length;
  while (low < high) { const middle = (low + high) >> 1; if (rows.chance[middle] >= limit) low = middle + 1; else high = middle; }
  return low;
};
const outcome = (limit) => {
  const n = flagged(limit), hits = cumulated[n], all = cumulated[cumulated.length - 1];
  const misses = all - hits, alarms = n - hits;
  const cost = misses * (+$("cost-miss").value || 0) + alarms * (+$("cost-alarm").value || 0);
  return { n, hits, misses, alarms, cost, recall: all ? hits / all : null, precision: n ? hits / n : null };
};
const drawThreshold = () => {
  $("threshold-card").hidden = !rows;
  if (!rows) return;
  const limit = +$("threshold").value / 1000, at = outcome(limit), total = rows.chance.length;
  $("threshold").style.setProperty("--at", `${100 * limit}%`);
  $("threshold").setAttribute("aria-label", "Threshold of the probability");
  $("threshold").setAttribute("aria-valuetext", `from a probability of ${percent(limit)} on`);
  $("threshold-note").textContent = `A row is taken as ${data.classes[rows.positive]} from a probability of ${percent(limit)} on. Of ${held.name}:`;
  pairs("threshold-readout", [
    ["recall", percent(at.recall)], ["precision", percent(at.precision)], ["misses", at.misses.toLocaleString("en")],
    ["false alarms", at.alarms.toLocaleString("en")], ["cost of 100 rows", short((100 * at.cost) / total)],
  ]);
  const W = wide("threshold-chart", 900), H = 200, x = (p) => 40 + p * (W - 62), y = (p) => H - 24 - p * (H - 48);
  const svg = figure("threshold-chart", W, H, "Recall, precision and cost along the threshold");
  const grid = Array.from({ length: 101 }, (_, i) => i / 100), all = grid.map(outcome), dearest = Math.max(1e-9, ...all.map((o) => o.cost));
  for (const p of [0, 0.5, 1]) {
    svg.append(drawn("line", { x1: x(0), x2: x(1), y1: y(p), y2: y(p), class: "grid" }));
    svg.append(drawn("text", { x: x(0) - 6, y: y(p) + 4, "text-anchor": "end" }, `${100 * p}%`));
    svg.append(drawn("text", { x: x(p), y: H - 6, "text-anchor": "middle" }, `${100 * p}%`));
  }
  const curve = (values, tint, dash = "") => {
    const points = values.map((v, i) => (v === null ? null : `${x(grid[i])},${y(v)}`)).filter(Boolean);
    svg.append(drawn("polyline", { points: points.join(" "), fill: "none", stroke: colour(tint), "stroke-width": 2, "stroke-dasharray": dash }));
  };
  curve(all.map((o) => o.recall), 0);
  curve(all.map((o) => o.precision), 2, "6 4");
  curve(all.map((o) => o.cost / dearest), 1, "2 3");
  svg.append(drawn("line", { x1: x(limit), x2: x(limit), y1: y(0), y2: y(1), class: "now" }));
  [["recall", 0], ["precision", 2], ["cost", 1]].forEach(([name, tint], i) => svg.append(drawn("text", { x: x(0.02) + 72 * i, y: 10, style: `fill:${colour(tint)};font-weight:600` }, name)));
};
if (rows) {
  $("threshold").value = 500;
  for (const id of ["threshold", "cost-miss", "cost-alarm"]) $(id).addEventListener("input", drawThreshold);
  $("cheapest").addEventListener("click", () => {
    const limits = Array.from({ length: 1001 }, (_, i) => i), costs = limits.map((i) => outcome(i / 1000).cost);
    const least = Math.min(...costs), best = limits.filter((i) => costs[i] === least);
    $("threshold").value = best[best.length >> 1];
    drawThreshold();
  });
}
const drawJudgement = () => { drawQuality(); drawImportance(); drawCalibration(); drawThreshold(); drawFewer(); };
addEventListener("resize", () => { drawCalibration(); drawThreshold(); drawFewer(); });
$("advice").replaceChildren(...data.advice.map((line) => make("li", line)));
$("advice").hidden = !data.advice.length;
