// charts.js - pictures by Bokeh, in the colours of the page.
"use strict";
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const LEAST_SPAN = 0.12; // of the median: what noise looks like should not depend on how small it is
const narrow = () => window.innerWidth < 600;
const shown = new Map(); // element -> Bokeh's view, removed before the next

function figureIn(place, options, draw) {
  const target = typeof place === "string" ? byId(place) : place;
  shown.get(target)?.then?.((view) => { try { (Array.isArray(view) ? view[0] : view).remove(); } catch { /* already gone */ } });
  target.replaceChildren();
  const plot = Bokeh.Plotting.figure({ toolbar_location: null, tools: "", sizing_mode: "stretch_width", background_fill_color: colour("back"), border_fill_color: colour("back"),
    outline_line_color: null, ...options });
  draw(plot);
  for (const axis of [...plot.xaxes ?? [plot.xaxis], ...plot.yaxes ?? [plot.yaxis]].flat()) {
    Object.assign(axis, { axis_label_text_color: colour("text"), major_label_text_color: colour("text"), axis_line_color: colour("soft"), major_tick_line_color: colour("soft"), minor_tick_line_color: null });
  }
  for (const grid of [plot.xgrid, plot.ygrid].flat()) grid.grid_line_color = colour("line");
  if (plot.title) plot.title.text_color = colour("text");
  shown.set(target, Bokeh.Plotting.show(plot, target));
}

function rankingChart(entries) {
  const some = entries.filter((entry) => !entry.few).slice(0, 20);
  if (!some.length) { byId("ranking-chart").replaceChildren(); return; }
  const names = some.map((entry) => entry.v).reverse();
  const left = 0.9, slowest = Math.max(...some.map((entry) => entry.mean));
  const share = narrow() ? 0.35 : 0.08; // of the axis, for the label of the slowest
  const right = slowest * (slowest / left) ** (share / (1 - share));
  figureIn("ranking-chart", { height: 60 + 22 * names.length, y_range: names, x_axis_type: "log", x_range: [left, right] }, (plot) => {
    const means = some.map((entry) => entry.mean).reverse();
    plot.segment({ x0: means.map(() => 1), y0: names, x1: means, y1: names, line_color: colour("line"), line_width: 2 });
    plot.scatter({ x: means, y: names, size: 9, color: some.map((entry) => colour({ cuda: "ours", cpu: "mid" }[entry.device] || "soft")).reverse() });
    plot.text({ x: means, y: names, text: means.map((mean) => `${significant(mean)}x`), x_offset: 9, y_offset: 6, text_font_size: "11px", text_color: colour("text") });
    plot.xaxis.axis_label = narrow() ? "geometric mean over the best" : "geometric mean of time over the best time of each case";
  });
}

function samplesChart(target, samples, median) {
  const unit = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]].find(([, scale]) => median >= scale) || ["ns", 1e-9];
  const values = samples.map((value) => value / unit[1]);
  figureIn(target, { height: 200 }, (plot) => {
    plot.scatter({ x: values.map((_, k) => k), y: values, size: 5, color: colour("ours") });
    plot.line({ x: [0, values.length - 1], y: [median / unit[1], median / unit[1]], line_color: colour("text"), line_width: 1 });
    plot.xaxis.axis_label = "sample";
    plot.yaxis.axis_label = unit[0];
  });
}

// claims: [{label, ratio, low, high, outcome}] with ratio = here / published.
function claimsChart(claims) {
  if (!claims.length) { byId("claims-chart").replaceChildren(); return; }
  const names = claims.map((claim) => claim.label).reverse();
  const tone = { holds: "good", direction: "mid", fails: "bad" };
  const ratios = claims.map((claim) => claim.ratio).reverse();
  const colours = claims.map((claim) => colour(tone[claim.outcome] || "soft")).reverse();
  const clip = (value, edge) => Math.min(Math.max(value ?? edge, 1e-3), 1e3);
  figureIn("claims-chart", { height: 70 + 17 * names.length, y_range: names, x_axis_type: "log" }, (plot) => {
    plot.hbar({ y: names, left: claims.map((claim) => clip(claim.low, 1e-3)).reverse(), right: claims.map((claim) => clip(claim.high, 1e3)).reverse(), height: 0.8, fill_color: colour("line"), line_color: null, fill_alpha: 0.7 });
    plot.segment({ x0: ratios.map(() => 1), y0: names, x1: ratios, y1: names, line_color: colours, line_width: 2 });
    plot.scatter({ x: ratios, y: names, size: 8, line_color: colours, fill_color: claims.map((claim) => (claim.outcome === "fails" ? colour("back") : colour(tone[claim.outcome] || "soft"))).reverse() });
    plot.line({ x: [1, 1], y: [names[0], names[names.length - 1]], line_color: colour("soft"), line_width: 1 });
    plot.xaxis.axis_label = "here / published; shaded: accepted";
    plot.yaxis.major_label_text_font_size = narrow() ? "7px" : "11px";
  });
}

function historyChart(target, series) {
  const at = series.points.map((_, k) => k);
  const unit = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]].find(([, scale]) => series.points[0][1] >= scale) || ["ns", 1e-9];
  const take = (k) => series.points.map((point) => point[k] / unit[1]);
  const low = Math.min(...take(2)), high = Math.max(...take(3)), middle = (low + high) / 2, half = Math.max((high - low) * 0.6, middle * LEAST_SPAN / 2);
  figureIn(target, { height: 180, y_range: [middle - half, middle + half] }, (plot) => {
    plot.varea({ x: at, y1: take(2), y2: take(3), fill_color: colour("ours"), fill_alpha: 0.2 });
    plot.line({ x: at, y: take(1), line_color: colour("ours"), line_width: 1.5 });
    plot.scatter({ x: at, y: take(1), size: 6, color: colour("ours") });
    for (const [start] of series.steps) plot.line({ x: [start - 0.5, start - 0.5], y: [middle - half, middle + half], line_color: colour("bad"), line_dash: [4, 3], line_width: 1.5 });
    plot.yaxis.axis_label = unit[0];
    const step = Math.ceil(at.length / 5);
    plot.xaxis.ticker = new Bokeh.FixedTicker({ ticks: at.filter((k) => k % step === 0) });
    plot.xaxis.major_label_overrides = new Map(series.points.map((point, k) => [k, point[0]]));
  });
}
