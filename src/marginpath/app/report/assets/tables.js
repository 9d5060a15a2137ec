// The confusion matrix, the labels to check, and all the numbers.

const FEW_CLASSES = 12, LISTED = 10;
const drawConfusions = (matrix) => {
  const cells = matrix.flatMap((row, i) => row.map((count, j) => [count, i, j, count / (row.reduce((a, b) => a + b, 0) || 1)]));
  const worst = cells.filter(([count, i, j]) => i !== j && count).sort((a, b) => b[0] - a[0] || b[3] - a[3]).slice(0, LISTED);
  $("confusions-box").hidden = twoClasses || !worst.length;
  const body = make("tbody");
  for (const [count, i, j, share] of worst) {
    const tr = make("tr"), from = make("td"), to = make("td");
    from.append(className(i)); to.append(className(j));
    tr.append(from, make("td", "taken for"), to, make("td", `${count.toLocaleString("en")} rows`, { class: "n" }), make("td", percent(share), { class: "n", title: "of the true class" }));
    body.append(tr);
  }
  $("confusions").querySelector("tbody")?.remove();
  $("confusions").append(body);
};
$("matrix-box").open = K <= FEW_CLASSES;
$("matrix-box").classList.toggle("plain", K <= FEW_CLASSES);
const drawConfusion = () => {
  const one = data.judged[state.judged];
  if (!one) {
    $("matrix-box").hidden = $("confusions-box").hidden = true;
    $("confusion-note").textContent = "There are no rows to judge: give the report a table with the true classes.";
    return;
  }
  const matrix = one.confusion[state.step];
  $("matrix-box").hidden = !matrix;
  if (!matrix) { $("confusion-note").textContent = `${K} classes are too many for a matrix.`; return; }
  drawConfusions(matrix);
  const table = make("table"), head = make("thead"), body = make("tbody");
  const top = make("tr"), names = make("tr");
  top.append(make("td"), make("th", "predicted", { colspan: K, class: "axis", scope: "colgroup" }));
  names.append(make("th", "true class", { class: "axis" }), ...data.classes.map((name) => make("th", name, { scope: "col", title: name })));
  head.append(top, names);
  matrix.forEach((row, i) => {
    const tr = make("tr"), total = row.reduce((a, b) => a + b, 0) || 1;
    tr.append(make("th", data.classes[i], { scope: "row", title: data.classes[i] }));
    row.forEach((count, j) => {
      const share = count / total, tint = i === j ? "--good" : "--bad", td = make("td", count.toLocaleString("en"));
      td.style.background = count ? `rgba(var(${tint}), ${(0.1 + 0.55 * share).toFixed(2)})` : "var(--field)";
      if (!count) td.style.color = "var(--quiet)";
      td.title = `${(100 * share).toFixed(1)}% of the class ${data.classes[i]}`;
      tr.append(td);
    });
    body.append(tr);
  });
  table.append(head, body);
  $("confusion").className = K > 6 ? "scroll many" : "scroll";
  $("confusion").replaceChildren(table);
  const wrong = matrix.reduce((sum, row, i) => sum + row.reduce((s, v, j) => s + (i === j ? 0 : v), 0), 0);
  $("confusion-note").textContent = `${wrong.toLocaleString("en")} of ${one.rows.toLocaleString("en")} rows (${percent(one.error[state.step])}) wrong at step ${data.steps[state.step]}.`;
};

const FEW = 8;
const KEYS = { contradiction: "contradiction", steps: "steps at bound", weight: "dual weight" };
const drawSuspects = () => {
  const rows = [...data.suspects].sort((a, b) => b[state.sort] - a[state.sort]);
  const table = $("suspects"), head = make("thead"), body = make("tbody"), tr = make("tr");
  tr.append(make("th", "row", { scope: "col" }), make("th", "label", { scope: "col" }), make("th", "looks like", { scope: "col" }));
  for (const [key, name] of Object.entries(KEYS)) {
    const th = make("th", "", { scope: "col", class: "n", "aria-sort": key === state.sort ? "descending" : "none" });
    const button = make("button", name, { type: "button" });
    button.addEventListener("click", () => { state.sort = key; drawSuspects(); document.querySelector(`#suspects th[aria-sort=descending] button`).focus(); });
    th.append(button);
    tr.append(th);
  }
  head.append(tr);
  for (const s of state.all ? rows : rows.slice(0, FEW)) {
    const row = make("tr"), first = make("td"), given = make("td"), other = make("td");
    const button = make("button", String(s.row), { type: "button", "aria-label": `Show row ${s.row} in the plane`, "aria-pressed": String(state.point === s.point) });
    button.addEventListener("click", () => {
      state.point = state.point === s.point ? null : s.point;
      for (const other of body.children) {
        const on = other === row && state.point !== null;
        other.classList.toggle("on", on);
        other.querySelector("button").setAttribute("aria-pressed", String(on));
      }
      drawPlane();
    });
    row.classList.toggle("on", state.point === s.point);
    first.append(button); given.append(className(s.given)); other.append(className(s.suggested));
    row.append(first, given, other, make("td", s.contradiction.toFixed(2), { class: "n" }), make("td", String(s.steps), { class: "n" }), make("td", short(s.weight), { class: "n" }));
    body.append(row);
  }
  table.replaceChildren(...(rows.length ? [head, body] : []));
  $("marked").parentElement.hidden = !rows.length;
  $("suspects-scroll").classList.toggle("tall", state.all);
  $("suspects-all").hidden = state.all || rows.length <= FEW;
  $("suspects-all").textContent = `Show all ${rows.length}`;
};
const suspectsNote = () => {
  $("suspects-csv").hidden = !data.suspects.length;
  if (data.missing) { $("suspects-note").textContent = "The rows of the fit are not in the file."; return; }
  const how = data.held_out_suspects ? "by the fold that did not see it" : "by the kept classifier";
  const more = data.suspects_total > data.suspects.length ? ` The first ${data.suspects.length} are listed.` : "";
  $("suspects-note").textContent = data.suspects.length
    ? `${data.suspects_total} rows carry a label that is contradicted ${how}. The stronger the contradiction, and the longer a row stays at the bound as the margin closes, the more likely the label is wrong.${more}`
    : data.constant ? "The model gives nearly every row to one class: what it contradicts says nothing about labels."
    : `No label is contradicted ${how}.`;
};

const numberRows = () => {
  const bounds = data.margin.names.flatMap((name) => [`margin at least (${name})`, `margin at most (${name})`]);
  const head = ["step", "C", ...errors.map((e) => e.name), ...bounds, "support vectors", "at the bound", "duality gap"];
  const rows = data.steps.map((step, t) => [step, data.C[t], ...errors.map((e) => e.values[t]), ...data.margin.names.flatMap((_, k) => [data.margin.lower[k][t], data.margin.upper[k][t]]), data.support.all[t], data.support.bound[t], data.gap[t]]);
  return [head, ...rows];
};
const drawNumbers = () => {
  const [head, ...rows] = numberRows(), thead = make("thead"), body = make("tbody"), tr = make("tr");
  tr.append(...head.map((name) => make("th", name, { scope: "col", class: "n" })));
  thead.append(tr);
  rows.forEach((values, t) => {
    const row = make("tr");
    row.append(...values.slice(0, -1).map((v, i) => make("td", i >= 2 && i < 2 + errors.length ? percent(v) : i ? short(v) : String(v), { class: "n" })), make("td", gap(t), { class: "n" }));
    body.append(row);
  });
  $("numbers").replaceChildren(thead, body);
};
