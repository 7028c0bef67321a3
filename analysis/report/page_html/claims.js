// claims.js - published numbers beside ours, judged anew by the factor that the reader sets; history.
"use strict";
const WORDS = { holds: "holds", direction: "another size", far: "far from the size", fails: "does not hold", not_testable: "not testable here", not_run: "not run", shown: "shown only" };
const RATIOS = ["speedup", "seconds", "error", "error_ratio", "bytes_per_second", "elements_per_second", "launches", "peak_bytes", "bytes_over_minimum"];
const FAR = 5; // times the published number
const MOST_HISTORY = 24;

const changeText = (ratio) => `${ratio > 1 ? "+" : ""}${(100 * (ratio - 1)).toFixed(1)}%`;
const printed = (claim) => (Array.isArray(claim.published) ? Math.sqrt(claim.published[0] * claim.published[1]) : claim.published);

// The band and outcome by the reader's factor; without one, as the program judged.
function judged(claim) {
  const base = printed(claim);
  if (claim.rule === "shown" && claim.here !== null) return { outcome: "shown", low: base, high: base };
  if (!state.factor || claim.here === null || !base || !RATIOS.includes(claim.quantity)) return { outcome: claim.outcome, low: claim.band_low, high: claim.band_high };
  const [first, last] = Array.isArray(claim.published) ? claim.published : [base, base];
  const low = claim.rule === "at_most" ? null : first / state.factor, high = claim.rule === "at_least" ? null : last * state.factor;
  const inside = (low === null || claim.here >= low) && (high === null || claim.here <= high);
  const better = claim.quantity === "seconds" ? claim.here < base : claim.quantity.endsWith("per_second") && claim.here > base;
  const ratio = ["speedup", "error_ratio"].includes(claim.quantity) ? (first > 1 && claim.here > 1) || (last < 1 && claim.here < 1) : better;
  const nearest = claim.here < first ? first : last, away = Math.max(claim.here / nearest, nearest / claim.here);
  return { outcome: inside ? "holds" : claim.law || !ratio ? "fails" : away <= FAR ? "direction" : "far", low, high };
}

function valueText(claim, value) {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map((some) => valueText(claim, some)).join(" to ");
  return claim.quantity === "seconds" ? seconds(value) : significant(value) + (claim.unit === "x" ? "x" : claim.unit ? ` ${claim.unit}` : "");
}

function claimDetail(claim) {
  const facts = [["source", claim.source], ["address", claim.url], ["section", claim.section], ["hardware", claim.hardware], ["protocol", claim.method], ["note", claim.note], ["accepted", claim.expected], ["why this tolerance", claim.reason], ["why this outcome", claim.why],
    ["case", claim.case], ["variant", claim.variant], ["over", claim.baseline], ["mode", claim.mode], ["processes", claim.processes], ["id", claim.id]];
  byId("detail-title").textContent = claim.statement;
  byId("detail-body").replaceChildren(element("dl", {}, ...facts.filter(([, value]) => value !== null && value !== undefined && value !== "").flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, String(value))])));
  byId("detail").showModal();
}

function drawClaims() {
  const claims = data.claims.filter((claim) => claim.op === state.op), others = data.claims.length - claims.length;
  const found = claims.map((claim) => ({ claim, ...judged(claim) }));
  const count = {};
  for (const { outcome, claim } of found) if (claim.claim_kind !== "finding") count[WORDS[outcome] || outcome] = (count[WORDS[outcome] || outcome] || 0) + 1;
  byId("claims-about").textContent = claims.length ? `${claims.length} claims about ${state.op}: ${Object.entries(count).map(([word, n]) => `${n} ${word}`).join(", ")}${others ? `; ${others} about other ops` : ""}. A statement opens its source and protocol.`
    : `No claim about ${state.op} was judged in these rows${others ? `; ${others} about other ops` : ""}.`;
  const drawn = found.filter(({ claim }) => claim.here !== null && printed(claim));
  claimsChart(drawn.map(({ claim, outcome, low, high }, k) => ({ label: `${k + 1}  ${claim.statement.slice(0, narrow() ? 22 : 64)}`, ratio: Math.min(Math.max(claim.here / printed(claim), 1e-3), 1e3), low: low === null ? null : low / printed(claim), high: high === null ? null : high / printed(claim), outcome })));
  const tone = { holds: "good", direction: "mid", far: "mid", fails: "bad" };
  const lines = sorted(found, { "k:here": (some) => (some.claim.here && printed(some.claim) ? some.claim.here / printed(some.claim) : Infinity), "k:statement": (some) => some.claim.statement, "k:outcome": (some) => WORDS[some.outcome] || "" });
  byId("claims-table").replaceChildren(element("thead", {}, element("tr", {}, headCell("published statement", "k:statement", true), headCell("program", null), headCell("published", null), headCell("here", "k:here"), headCell("outcome", "k:outcome", true))),
    element("tbody", {}, ...lines.map(({ claim, outcome }) => element("tr", {}, element("td", { class: "wrap opens", onclick: () => claimDetail(claim) }, element("button", { type: "button", style: "text-align:left" }, claim.statement)), element("td", {}, claim.program || "-"),
      element("td", {}, `${{ at_least: "at least ", at_most: "at most " }[claim.rule] || ""}${valueText(claim, claim.published)}`), element("td", {}, valueText(claim, claim.here) + (claim.low !== null && claim.high !== null && claim.here !== null ? ` (${valueText(claim, claim.low)} to ${valueText(claim, claim.high)})` : "")),
      element("td", { class: `left ${tone[outcome] || ""}` }, (WORDS[outcome] || outcome || "-") + (claim.provisional && claim.here !== null ? " (provisional)" : ""))))));
}

function drawHistory() {
  const names = new Set(chosenRows().map((row) => data.cases[row.c].text));
  const series = data.history.series.filter((some) => some.op === state.op && names.has(some.case) && !state.off.includes(some.v)).sort((a, b) => b.steps.length - a.steps.length || b.points.length - a.points.length);
  const commits = new Set(data.history.series.flatMap((some) => some.points.map((point) => point[0])));
  byId("history-about").textContent = series.length ? `${series.length} series of two commits and more${series.length > MOST_HISTORY ? `, the first ${MOST_HISTORY}` : ""}. Band: range between runs; dashed: a change of level, relative to what all series of the machine do.${data.history.machines.map((step) => ` At ${step.commit} all series of ${step.machine} change by ${changeText(step.ratio)}.`).join("")}`
    : commits.size ? "None of these rows was measured at two commits." : "These rows are of one commit: no history. './rungs report --html FILE' over files of several commits shows one.";
  const place = byId("history-charts");
  place.replaceChildren();
  for (const some of printing ? series : series.slice(0, MOST_HISTORY)) {
    const chart = element("div", { class: "chart" });
    place.append(element("figure", {}, chart, element("figcaption", {}, `${some.spec}, ${some.mode}, ${some.machine}: ${some.case}. ${some.points.length} commits, ${some.points[0][0]} to ${some.points[some.points.length - 1][0]}${some.steps.length ? `; changes at ${some.steps.map(([k, ratio]) => `${some.points[k][0]} (${changeText(ratio)})`).join(", ")}` : ""}`)));
    historyChart(chart, some);
  }
}
