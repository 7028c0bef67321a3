// main.js - draws everything anew when something was chosen.
"use strict";
function render() {
  saveState();
  drawChips();
  const rows = chosenRows(), found = fastest(rows), entries = ranking(found);
  byId("tolerance").value = state.tolerance;
  byId("tolerance-value").textContent = state.tolerance === 0 ? "1" : (10 ** state.tolerance).toExponential(1);
  byId("factor").value = state.factor ?? "";
  drawRanking(entries, found, rows);
  rankingChart(entries);
  drawCases(entries, found, rows);
  drawClaims();
  drawHistory();
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
}

function download(name, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function about() {
  const machines = [...new Set(data.rows.map((row) => row.m))], commits = [...new Set(Object.values(data.runs).map((run) => (run.commit || "unknown").slice(0, 7)))];
  const times = data.rows.filter((row) => Object.keys(row.t).length).length;
  return `${data.rows.length} rows, ${times} of them timed, on ${machines.join(", ")}; commit${commits.length > 1 ? "s" : ""} ${commits.join(", ")}.${times ? "" : " Nothing was timed: these rows were only verified."}`
    + (data.rows.some((row) => row.d === "cuda" && Object.keys(row.t).length) ? "" : " No GPU was used: nothing here is a time of a CUDA kernel.");
}

async function start() {
  data = await readData();
  const known = loadState();
  if (!known || !data.cases.some((some) => some.op === state.op)) state.op = defaultOp();
  const modes = new Set(data.rows.flatMap((row) => Object.keys(row.t)));
  if (modes.size && !modes.has(state.mode)) state.mode = [...modes][0];
  byId("about").textContent = about();
  byId("tolerance").addEventListener("input", (event) => { state.tolerance = Number(event.target.value); render(); });
  byId("factor").addEventListener("change", (event) => { state.factor = Number(event.target.value) >= 1 ? Number(event.target.value) : null; render(); });
  byId("all").addEventListener("click", () => { state.off = []; render(); });
  byId("more").addEventListener("click", () => { allCases = true; render(); });
  window.addEventListener("beforeprint", () => { printing = true; render(); });
  window.addEventListener("afterprint", () => { printing = false; render(); });
  matchMedia("(max-width: 599px)").addEventListener("change", render);
  byId("csv").addEventListener("click", () => download(`rungs-${state.op}-${state.mode}.csv`, csvText(seen)));
  byId("link").addEventListener("click", async () => { saveState(); try { await navigator.clipboard.writeText(location.href); byId("link").textContent = "copied"; } catch { byId("link").textContent = "the link is in the address bar"; } });
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", (event) => { event.preventDefault(); byId(link.dataset.to).scrollIntoView({ behavior: "smooth" }); });
  document.addEventListener("keydown", (event) => { if (event.key === "/" && !["INPUT", "TEXTAREA"].includes(document.activeElement?.tagName)) { byId("filters").querySelector("button")?.focus(); event.preventDefault(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
  window.addEventListener("hashchange", () => { if (loadState()) render(); });
  render();
}

start().catch((error) => { byId("about").textContent = `This page could not be drawn: ${error.message}`; throw error; });
