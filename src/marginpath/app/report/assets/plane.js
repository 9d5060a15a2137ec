// The plane: regions, boundary, margins and points at the step.

const canvas = $("canvas"), pen = canvas.getContext("2d");
let pointStates = null;
const grids = [];
const suspectPoints = new Map(data.suspects.map((s, i) => [s.point, i]));
if (!data.planes.length) {
  $("plane-card").hidden = true;
  document.body.classList.add("no-plane");
}
const values = (plane, t, k) => {
  const size = plane.shape[0] * plane.shape[1], columns = twoClasses ? 1 : K;
  const bytes = grids[state.plane], half = bytes.length / 2, start = (t * columns + k) * size, [low, high] = plane.ranges[t];
  return Float32Array.from({ length: size }, (_, i) => low + ((4 * bytes[start + i] + bytes[half + start + i]) / 1023) * (high - low));
};
const lead = (fields, k) => fields[k].map((v, i) => {
  let other = -Infinity;
  for (let j = 0; j < K; j++) if (j !== k && fields[j][i] > other) other = fields[j][i];
  return v - other;
});
const contour = (field, level, [h, w], to) => {
  // marching squares; cuts of neighbouring cells share an edge of the grid, by which they are joined to lines
  const joined = new Map();
  const join = (a, b) => { if (!joined.has(a.id)) joined.set(a.id, { at: a.at, next: [] }); joined.get(a.id).next.push(b.id); };
  for (let i = 0; i < h - 1; i++) for (let j = 0; j < w - 1; j++) {
    const v = [field[i * w + j], field[i * w + j + 1], field[(i + 1) * w + j + 1], field[(i + 1) * w + j]], cuts = [];
    for (let e = 0; e < 4; e++) {
      const a = v[e] - level, b = v[(e + 1) % 4] - level;
      if (a > 0 === b > 0) continue;
      const s = a / (a - b);
      const at = [[j + s, i], [j + 1, i + s], [j + 1 - s, i + 1], [j, i + 1 - s]][e];
      const id = [2 * (i * w + j), 2 * (i * w + j + 1) + 1, 2 * ((i + 1) * w + j), 2 * (i * w + j) + 1][e];
      cuts.push({ at, id });
    }
    for (let e = 0; e + 1 < cuts.length; e += 2) { join(cuts[e], cuts[e + 1]); join(cuts[e + 1], cuts[e]); }
  }
  const seen = new Set();
  const follow = (start) => {
    pen.moveTo(...to(...joined.get(start).at));
    for (let id = start; id !== undefined;) {
      seen.add(id);
      const next = joined.get(id).next;
      id = next.find((other) => !seen.has(other));
      if (id !== undefined) pen.lineTo(...to(...joined.get(id).at));
      else if (next.includes(start)) pen.lineTo(...to(...joined.get(start).at));
    }
  };
  pen.beginPath();
  for (const [id, cut] of joined) if (cut.next.length === 1 && !seen.has(id)) follow(id);
  for (const id of joined.keys()) if (!seen.has(id)) follow(id);
  pen.stroke();
};
const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const paint = document.createElement("canvas");
const background = (fields, [h, w]) => {
  const fine = 4, H = (h - 1) * fine + 1, W = (w - 1) * fine + 1;
  paint.width = W; paint.height = H;
  const image = new ImageData(W, H), tints = data.classes.map((_, k) => rgb(colour(k))), ground = rgb(css("--card"));
  const strength = dark.matches ? 0.36 : 0.27;
  for (let y = 0; y < H; y++) for (let x = 0; x < W; x++) {
    const i = Math.min(h - 2, Math.floor(y / fine)), j = Math.min(w - 2, Math.floor(x / fine));
    const b = y / fine - i, a = x / fine - j, at = i * w + j;
    let best = -Infinity, second = -Infinity, winner = 0;
    for (let k = 0; k < fields.length; k++) {
      const f = fields[k];
      const v = (1 - b) * ((1 - a) * f[at] + a * f[at + 1]) + b * ((1 - a) * f[at + w] + a * f[at + w + 1]);
      if (v > best) { second = best; best = v; winner = k; } else if (v > second) second = v;
    }
    let sure = Math.min(1, (best - second) / 2);
    if (twoClasses) { winner = best > 0 ? 1 : 0; sure = Math.min(1, Math.abs(best)); }
    const alpha = strength * (0.45 + 0.55 * sure), p = 4 * (y * W + x);
    for (let c = 0; c < 3; c++) image.data[p + c] = ground[c] + alpha * (tints[winner][c] - ground[c]);
    image.data[p + 3] = 255;
  }
  paint.getContext("2d").putImageData(image, 0, 0);
  return paint;
};
const frame = () => {
  const small = canvas.clientWidth < 520;
  return { left: small ? 34 : 46, right: 6, top: 6, bottom: small ? 34 : 40, width: canvas.clientWidth, height: canvas.clientHeight };
};
const placed = (plane, box) => {
  const [x0, x1, y0, y1] = plane.box, w = box.width - box.left - box.right, h = box.height - box.top - box.bottom;
  return (x, y) => [box.left + ((x - x0) / (x1 - x0)) * w, box.top + ((y1 - y) / (y1 - y0)) * h];
};
const ticks = (low, high) => {
  const raw = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(raw));
  const stepSize = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw), found = [];
  for (let v = Math.ceil(low / stepSize) * stepSize; v <= high; v += stepSize) found.push(+v.toPrecision(10));
  return found;
};
const drawPlane = () => {
  const plane = data.planes[state.plane];
  if (!plane || !grids[state.plane]) return;
  const box = frame(), ratio = devicePixelRatio || 1;
  canvas.width = box.width * ratio; canvas.height = box.height * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  const [h, w] = plane.shape, fields = Array.from({ length: twoClasses ? 1 : K }, (_, k) => values(plane, state.step, k));
  const inner = [box.left, box.top, box.width - box.left - box.right, box.height - box.top - box.bottom];
  pen.save();
  pen.beginPath(); pen.roundRect(...inner, 6); pen.clip();
  pen.imageSmoothingQuality = "high";
  pen.drawImage(background(fields, plane.shape), ...inner);
  const to = (j, i) => [inner[0] + (j / (w - 1)) * inner[2], inner[1] + (i / (h - 1)) * inner[3]];
  pen.lineCap = "round";
  pen.lineWidth = 1.4; pen.setLineDash([5, 5]);
  fields.forEach((field, k) => {
    const levels = twoClasses ? [[-1, 0], [1, 1]] : [[1, k]];
    for (const [level, tint] of levels) { pen.strokeStyle = colour(tint); contour(field, level, plane.shape, to); }
  });
  pen.setLineDash([]); pen.lineWidth = 2.2; pen.strokeStyle = css("--ink");
  if (twoClasses) contour(fields[0], 0, plane.shape, to);
  else for (let k = 0; k < K; k++) contour(lead(fields, k), 0, plane.shape, to);
  drawPoints(plane, box);
  pen.restore();
  drawAxes(plane, box, inner);
  const what = twoClasses ? "the line f = 0 and the margins f = ±1" : "the regions of the classes";
  canvas.setAttribute("aria-label", `Plane of ${plane.x} and ${plane.y} at step ${data.steps[state.step]}: ${what}, with ${data.support.all[state.step]} support vectors.`);
};
const drawPoints = (plane, box) => {
  const place = placed(plane, box), n = data.points.row.length, [xs, ys] = plane.points;
  const scale = Math.min(1, Math.max(0.6, Math.sqrt((box.width * box.height) / (700 * n))));
  const current = pointStates.subarray(state.step * n, (state.step + 1) * n);
  for (const wanted of [0, 2, 1]) for (let i = 0; i < n; i++) {
    if (current[i] !== wanted) continue;
    const [x, y] = place(xs[i], ys[i]), k = data.points.label[i];
    shape(pen, k, x, y, (wanted === 0 ? 2.4 : wanted === 1 ? 4.6 : 3.8) * scale);
    pen.globalAlpha = wanted === 0 ? 0.6 : 1;
    pen.fillStyle = wanted === 2 ? css("--card") : colour(k);
    pen.fill();
    if (wanted) { pen.strokeStyle = wanted === 1 ? css("--card") : colour(k); pen.lineWidth = wanted === 1 ? 1.2 : 1.7; pen.stroke(); }
    pen.globalAlpha = 1;
  }
  if ($("marked").checked) data.suspects.slice(0, 50).forEach((s) => ring(place(xs[s.point], ys[s.point]), 8.5 * Math.max(0.75, scale), 1.5));
  if (state.point !== null) {
    const at = place(xs[state.point], ys[state.point]);
    ring(at, 12, 3);
  }
};
const ring = ([x, y], r, width) => {
  pen.beginPath(); pen.arc(x, y, r, 0, 7);
  pen.strokeStyle = css("--card"); pen.lineWidth = width + 2; pen.stroke();
  pen.strokeStyle = css("--ink"); pen.lineWidth = width; pen.stroke();
};
const drawAxes = (plane, box, [left, top, width, height]) => {
  const place = placed(plane, box), [x0, x1, y0, y1] = plane.box;
  pen.fillStyle = css("--quiet"); pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "center"; pen.textBaseline = "top";
  for (const v of ticks(x0, x1)) pen.fillText(short(v), place(v, y0)[0], top + height + 5);
  pen.fillText(plane.x, left + width / 2, top + height + 21, width);
  pen.textAlign = "right"; pen.textBaseline = "middle";
  for (const v of ticks(y0, y1)) pen.fillText(short(v), left - 6, place(x0, v)[1]);
  pen.save();
  pen.translate(9, top + height / 2); pen.rotate(-Math.PI / 2); pen.textAlign = "center";
  if (canvas.clientWidth >= 520) pen.fillText(plane.y, 0, 0, height);
  pen.restore();
};
const nearest = (event) => {
  const plane = data.planes[state.plane], place = placed(plane, frame()), rect = canvas.getBoundingClientRect();
  const [mx, my] = [event.clientX - rect.left, event.clientY - rect.top];
  let best = 14, found = null;
  plane.points[0].forEach((x, i) => {
    const [px, py] = place(x, plane.points[1][i]), d = Math.hypot(px - mx, py - my);
    if (d < best) { best = d; found = i; }
  });
  return [found, mx, my];
};
canvas.addEventListener("pointermove", (event) => {
  if (!pointStates) return;
  const [i, x, y] = nearest(event), tip = $("tip"), n = data.points.row.length;
  tip.hidden = i === null;
  if (i === null) return;
  const kinds = ["no support vector", "support vector", "support vector at the bound"];
  const suspect = suspectPoints.has(i) ? `, number ${suspectPoints.get(i) + 1} of the labels to check` : "";
  tip.textContent = `Row ${data.points.row[i]}: ${data.classes[data.points.label[i]]}, ${kinds[pointStates[state.step * n + i]]}${suspect}`;
  tip.style.left = `${Math.min(x + 12, canvas.clientWidth - 190)}px`;
  tip.style.top = `${y + 14}px`;
});
canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
const planeNote = () => {
  const plane = data.planes[state.plane];
  if (!plane) return;
  const drawn = data.points.row.length, n = data.settings[0][1];
  const part = drawn < +n.replaceAll(",", "") ? ` ${drawn} of the ${n} rows are drawn.` : "";
  const slice = plane.exact ? "" : plane.name === "principal components"
    ? "A slice of the boundary through the mean; the points are projected onto it, so some seem to lie on the wrong side."
    : "A slice of the boundary with all other columns at their mean or most frequent value; the points are projected onto it, so some seem to lie on the wrong side.";
  $("plane-note").textContent = slice + part;
};
