// One step, everywhere: the slider, the keys, the player, and the start.

const slider = $("slider");
const go = (t) => {
  state.step = Math.min(T - 1, Math.max(0, t));
  slider.value = state.step;
  show();
};
const show = () => {
  const t = state.step, step = data.steps[t];
  slider.style.setProperty("--at", `${T > 1 ? (100 * t) / (T - 1) : 100}%`);
  read.step.replaceChildren(String(step), make("small", ` of ${data.steps[T - 1]}${t === data.chosen ? ", kept" : ""}`));
  read.C.textContent = short(data.C[t]);
  errors.forEach((e) => read[e.id].replaceChildren(percent(e.values[t]), make("small", e.spread ? ` ± ${percent(e.spread[t])}` : "")));
  read.margin.textContent = interval(state.margin, t);
  read.support.replaceChildren(data.support.all[t].toLocaleString("en"), make("small", `, ${data.support.bound[t].toLocaleString("en")} at bound`));
  read.gap.replaceChildren(gap(t), make("small", data.inexact[t] ? " over path_tol" : ""));
  read.gap.title = data.inexact[t] ? "The gap is over path_tol: this step is not the SVM at its C." : "";
  slider.setAttribute("aria-valuetext", `step ${step} of ${data.steps[T - 1]}, ${errors.map((e) => `${e.name} ${percent(e.values[t])}`).join(", ")}`);
  $("kept").disabled = t === data.chosen;
  plots.forEach(({ u }) => u.redraw(false, false));
  drawConfusion();
  drawPlane();
};
slider.max = T - 1;
slider.addEventListener("input", () => { stop(); go(+slider.value); });
slider.addEventListener("keydown", (event) => {
  const jump = { PageUp: 10, PageDown: -10 }[event.key];
  if (jump) { event.preventDefault(); stop(); go(state.step + jump); }
});
$("kept").addEventListener("click", () => { stop(); go(data.chosen); slider.focus(); });
const share = T > 1 ? data.chosen / (T - 1) : 1;
$("mark").textContent = "kept";
$("mark").style.left = `calc(11px + ${share} * (100% - 22px))`;
for (const [side, near] of [[0, share < 0.22], [2, share > 0.78]]) if (near) document.querySelector(".ends").children[side].style.visibility = "hidden";
let playing = null;
const stop = () => { clearInterval(playing); playing = null; $("play").setAttribute("aria-pressed", "false"); $("play").setAttribute("aria-label", "Play"); };
$("play").addEventListener("click", () => {
  if (playing) return stop();
  if (state.step === T - 1) go(0);
  $("play").setAttribute("aria-pressed", "true");
  $("play").setAttribute("aria-label", "Pause");
  playing = setInterval(() => (state.step === T - 1 ? stop() : go(state.step + 1)), Math.max(60, Math.min(260, 9000 / T)));
});

document.body.classList.toggle("one-step", T === 1);
choices($("plane"), data.planes.map((p) => p.name), (i) => { state.plane = i; planeNote(); drawPlane(); });
$("plane-choice").hidden = data.planes.length < 2;
choices($("margin"), data.margin.names, (i) => {
  state.margin = i;
  plots.forEach(({ u, values }) => u.setData([data.steps, ...values()]));
  show();
});
$("margin-choice").hidden = data.margin.names.length < 2;
choices($("judged"), data.judged.map((one) => (one.kind === "test" ? `${one.name}` : one.name)), (i) => { state.judged = i; drawConfusion(); });
$("marked").addEventListener("change", drawPlane);
$("suspects-all").addEventListener("click", () => { state.all = true; drawSuspects(); });
$("suspects-csv").addEventListener("click", () => download("labels-to-check.csv", [
  ["row", "label", "looks_like", "contradiction", "steps_at_bound", "dual_weight"],
  ...data.suspects.map((s) => [s.row, data.classes[s.given], data.classes[s.suggested], s.contradiction, s.steps, s.weight]),
]));
$("numbers-csv").addEventListener("click", () => download("steps.csv", numberRows()));
for (const [id, text] of [["error-chart", "Errors along the steps"], ["margin-chart", "Bounds on the maximum margin along the steps"], ["support-chart", "Number of support vectors along the steps"]]) $(id).setAttribute("aria-label", `${text}; the numbers are in the table at the end.`);

const redraw = () => { theme = {}; legends(); drawSuspects(); drawJudgement(); plots.forEach(({ u }) => u.redraw()); show(); };
dark.addEventListener("change", redraw);
suspectsNote(); planeNote(); drawNumbers(); redraw();
go(data.chosen);
if (data.planes.length) {
  try {
    pointStates = await unpack(data.points.state);
    for (const plane of data.planes) grids.push(await unpack(plane.values));
    new ResizeObserver(drawPlane).observe(canvas);
    drawPlane();
  } catch (error) {
    $("plane-note").textContent = "This browser cannot unpack the decision values: use a newer one to see the plane.";
    console.warn(error);
  }
}
document.documentElement.dataset.ready = "true";
