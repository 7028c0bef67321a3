// tables.js - chips, the ranking, the cases and what one row holds.
"use strict";
const MOST_CASES = 60, MOST_COLUMNS = 14, PAPER_COLUMNS = 8;
let allCases = false, printing = false; // on paper everything is shown, in as many tables as it takes
let seen = []; // [row, text] of the cells of the cases' table, as they stand: what the CSV has

function chip(group, value, pressed, press) {
  return element("button", { type: "button", "aria-pressed": String(pressed), "data-group": group, "data-value": value, onclick: press }, String(value));
}

function chipGroup(group, values, isPressed, press) {
  const line = element("div", { class: "group", role: "group", "aria-label": NAMES[group] }, element("b", {}, NAMES[group]));
  const many = values.length > FIRST_CHIPS + 2;
  values.forEach((value, k) => {
    const made = chip(group, value, isPressed(value), () => press(value));
    if (many && k >= FIRST_CHIPS && !isPressed(value)) made.hidden = true;
    line.append(made);
  });
  if (many) line.append(element("button", { type: "button", class: "soft", onclick: (event) => { for (const other of line.querySelectorAll("[hidden]")) other.hidden = false; event.target.remove(); } }, `${values.length - FIRST_CHIPS} more`));
  line.addEventListener("keydown", (event) => {
    if (!["ArrowRight", "ArrowLeft"].includes(event.key)) return;
    const chips = [...line.querySelectorAll("button:not([hidden])")], at = chips.indexOf(document.activeElement);
    if (at >= 0) { chips[(at + (event.key === "ArrowRight" ? 1 : chips.length - 1)) % chips.length].focus(); event.preventDefault(); }
  });
  return line;
}

function toggle(group, value) {
  const some = new Set(state.pick[group] || []);
  if (some.has(value)) some.delete(value); else some.add(value);
  state.pick[group] = [...some];
  render();
}

function drawChips() {
  const focus = document.activeElement?.dataset ?? {}, place = byId("filters");
  const ops = [...new Set(data.cases.map((some) => some.op))].sort();
  const modes = [...new Set(ofOp().flatMap((row) => Object.keys(row.t)).concat(state.mode))];
  const parts = ops.length < 2 ? [] : [chipGroup("op", ops, (value) => value === state.op, (value) => { state = { ...state, op: value, pick: {}, off: [], sort: null }; render(); })];
  for (const group of GROUPS) {
    const count = new Map();
    const elements = new Map();
    for (const row of chosenRows(group)) {
      const value = field[group](row);
      count.set(value, (count.get(value) || 0) + (timed(row) ? 1e6 : 1));
      elements.set(value, data.cases[row.c].elements);
    }
    let values = [...count.keys()].sort((a, b) => (group === "size" ? (count.get(b) >= 1e6) - (count.get(a) >= 1e6) || elements.get(a) - elements.get(b) : count.get(b) - count.get(a)) || String(a).localeCompare(String(b)));
    for (const value of state.pick[group] || []) if (!values.includes(value)) values.push(value);
    if (values.length > 1 || (state.pick[group] || []).length) parts.push(chipGroup(group, values, (value) => (state.pick[group] || []).includes(value), (value) => toggle(group, value)));
  }
  if (modes.length > 1) parts.push(chipGroup("mode", modes, (value) => value === state.mode, (value) => { state.mode = value; render(); }));
  place.replaceChildren(...parts);
  if (focus.group) [...place.querySelectorAll("button")].find((other) => other.dataset.group === focus.group && other.dataset.value === focus.value)?.focus();
}

function headCell(text, key, left = false) {
  const [sorted, down] = state.sort || [null, false];
  return element("th", { class: left ? "left" : null, scope: "col", "aria-sort": sorted === key ? (down ? "descending" : "ascending") : null },
    key === null ? text : element("button", { type: "button", "data-sort": key, onclick: () => { state.sort = [key, sorted === key ? !down : false]; render(); } }, text));
}

function sorted(items, keys) {
  const [key, down] = state.sort || [null, false];
  if (!keys[key]) return items;
  const value = keys[key];
  return [...items].sort((a, b) => { const x = value(a), y = value(b); return (typeof x === "string" ? x.localeCompare(y) : x - y) * (down ? -1 : 1); });
}

function drawRanking(entries, found, rows) {
  const table = byId("ranking-table");
  const dropped = new Map();
  for (const row of rows) if (timed(row) && !within(row)) dropped.set(row.v, (dropped.get(row.v) || 0) + 1);
  const unticked = state.off.filter((name) => rows.some((row) => row.v === name && timed(row))).map((v) => ({ v, off: true, mean: Infinity, cases: 0, worst: Infinity, wins: 0, device: "" }));
  const lines = sorted([...entries, ...unticked], { "r:v": (entry) => entry.v, "r:mean": (entry) => entry.mean, "r:cases": (entry) => entry.cases, "r:worst": (entry) => entry.worst, "r:wins": (entry) => entry.wins });
  const place = new Map(entries.map((entry, k) => [entry.v, k + 1]));
  table.replaceChildren(element("thead", {}, element("tr", {}, headCell("variant", "r:v"), headCell("rank, or x the first", null), headCell("x best", "r:mean"), headCell("worst case", "r:worst"), headCell("fastest in", "r:wins"), headCell("cases", "r:cases"), headCell("dropped", null), headCell("device", null))),
    element("tbody", {}, ...lines.map((entry) => element("tr", { "data-variant": entry.v },
      element("td", {}, element("label", {}, element("input", { type: "checkbox", checked: !entry.off, onchange: () => { state.off = entry.off ? state.off.filter((name) => name !== entry.v) : [...state.off, entry.v]; render(); } }), ` ${entry.v}${entry.declared ? " (its own tolerance)" : ""}`)),
      element("td", {}, entry.off ? "-" : entry.few ? (entry.shared ? `${significant(entry.ratio)}x in ${entry.shared} case${entry.shared > 1 ? "s" : ""}` : "no common case") : String(place.get(entry.v))), ...[significant(entry.mean), significant(entry.worst), String(entry.wins)].map((text) => element("td", {}, entry.off || entry.few ? "-" : text)),
      element("td", {}, entry.off ? "-" : `${entry.cases} of ${found.size}`), element("td", { class: dropped.get(entry.v) ? "bad" : null }, String(dropped.get(entry.v) || "-")), element("td", {}, entry.device || "-")))));
  byId("ranking-about").textContent = entries.length
    ? `${entries.filter((entry) => !entry.few).length} of ${entries.length} variants are ranked, on the ${entries.common} of ${found.size} cases that all of these have, ${state.mode}; only rows that passed verification and were timed count.${entries.some((entry) => entry.few) ? " The others have too few of these: beside them stands their time over the first's, on the cases that both have." : ""}`
    : "No verified row was timed here in this mode: nothing to rank.";
  const failing = new Map();
  for (const row of rows) if (row.x === "fail" || row.x === "error") failing.set(row.v, (failing.get(row.v) || 0) + 1);
  const words = [];
  if (dropped.size) words.push(`Outside this tolerance: ${[...dropped].map(([name, n]) => `${name} (${n})`).join(", ")}.`);
  if (failing.size) words.push(`Failed verification, never ranked: ${[...failing].map(([name, n]) => `${name} (${n})`).join(", ")}.`);
  byId("dropped").textContent = words.join(" ");
  const all = rows.filter(timed).length, lost = rows.filter((row) => timed(row) && !within(row)).length;
  byId("slider-drops").textContent = state.tolerance === 0 ? "" : `drops ${lost} of ${all} times${dropped.size ? `, of ${[...dropped.keys()].join(", ")}` : ""}`;
}

function cell(rows, best) {
  const ok = rows.filter((row) => timed(row) && within(row)).sort((a, b) => a.t[state.mode].m - b.t[state.mode].m)[0];
  const row = ok || rows.find((other) => other.x === "fail") || rows.find((other) => other.x === "error") || rows.find((other) => timed(other)) || rows[0];
  if (!row) return element("td", {}, "-");
  const text = ok ? `${seconds(ok.t[state.mode].m)}${alone(ok) ? " (another card or build)" : best && ok.t[state.mode].m > best ? ` ${significant(ok.t[state.mode].m / best)}x` : ""}` : timed(row) ? "outside" : row.x === "pass" ? "verified" : row.x;
  const told = text + (row.u.length ? " (not judgeable in part)" : "");
  seen.push([row, told]);
  return element("td", { class: `opens${ok && ok.t[state.mode].m === best ? " best" : row.x === "fail" || row.x === "error" || (timed(row) && !ok) ? " bad" : ""}`, onclick: () => showRow(row) },
    element("button", { type: "button" }, told));
}

function drawCases(entries, found, rows) {
  const names = entries.map((entry) => entry.v);
  for (const row of rows) if (!names.includes(row.v) && !state.off.includes(row.v) && row.x !== "skip") names.push(row.v);
  const columns = printing ? names : names.slice(0, MOST_COLUMNS), cases = new Map();
  for (const row of rows) {
    if (!columns.includes(row.v)) continue;
    if (!cases.has(row.c)) cases.set(row.c, new Map());
    cases.get(row.c).set(row.v, [...(cases.get(row.c).get(row.v) || []), row]);
  }
  const bestOf = (index) => Math.min(...[...(found.get(index) || new Map())].filter(([name]) => !state.off.includes(name)).map(([, row]) => row.t[state.mode].m));
  const timeOf = (index, name) => found.get(index)?.get(name)?.t[state.mode].m ?? Infinity;
  const keys = { "c:label": (index) => data.cases[index].label, "c:size": (index) => data.cases[index].elements };
  for (const name of columns) keys[`c:${name}`] = (index) => timeOf(index, name);
  const order = sorted([...cases.keys()].sort((a, b) => Number(found.has(b)) - Number(found.has(a)) || data.cases[b].elements - data.cases[a].elements || a - b), keys);
  const lines = allCases || printing ? order : order.slice(0, MOST_CASES);
  seen = [];
  const step = printing ? PAPER_COLUMNS : columns.length || 1, folded = narrow() && !printing; // folded: the case stands above its cells
  const cellsOf = (index, some) => [element("td", {}, data.cases[index].size), ...some.map((name) => cell(cases.get(index).get(name) || [], bestOf(index)))];
  const linesOf = (index, some) => (folded
    ? [element("tr", { class: "case" }, element("th", { class: "left", scope: "rowgroup", colspan: some.length + 1 }, element("span", {}, data.cases[index].label))), element("tr", {}, ...cellsOf(index, some))]
    : [element("tr", {}, element("td", { class: "label" }, data.cases[index].label), ...cellsOf(index, some))]);
  const partOf = (some) => [element("thead", {}, element("tr", {}, folded ? null : headCell("case", "c:label", true), headCell("size", "c:size"), ...some.map((name) => headCell(name, `c:${name}`)))),
    element("tbody", {}, ...lines.flatMap((index) => linesOf(index, some)))];
  const table = byId("cases-table");
  table.replaceChildren(...partOf(columns.slice(0, step)));
  while (table.nextElementSibling) table.nextElementSibling.remove();
  for (let k = step; k < columns.length; k += step) table.parentElement.append(element("table", { class: "cases" }, ...partOf(columns.slice(k, k + step))));
  byId("more").hidden = lines.length === order.length;
  byId("cases-about").textContent = `${order.length} cases${lines.length < order.length ? `, the first ${lines.length}` : ""}${names.length > columns.length ? `; ${columns.length} of ${names.length} variants: untick some to see others` : ""}. A cell opens its samples, machine, commit and command.`;
}

function outputLine(name, error) {
  const words = Object.entries(error).filter(([key]) => key !== "judgeable").map(([key, value]) => `${key.replace("_", " ")} ${value === -1 ? "not comparable" : value}`);
  return element("li", {}, `${name}: ${words.join(", ") || "exact"}${error.judgeable === false ? "; not judgeable: the tolerance would let 0 pass" : ""}`);
}

function showRow(row) {
  const run = data.runs[row.r] || {}, some = data.cases[row.c], body = byId("detail-body");
  byId("detail-title").textContent = row.s;
  const facts = [["case", some.text], ["verdict", row.x + (row.u.length ? ` (not judgeable: ${row.u.join(", ")})` : "") + (row.w ? `: ${row.w}` : "")],
    ["error bound", row.q[0] ? `${row.q[0]}${row.q[2] ? " (its own, looser tolerance)" : ""}: ${row.q[1] || "-"}` : "-"],
    ["largest error", row.e === null ? "-" : row.e < 0 ? "not comparable" : `${row.e} of the bound`], ["machine", `${row.m}${run.driver ? `, driver ${run.driver}` : ""}${run.cpu ? `; ${run.cpu}, ${run.threads} threads` : ""}`],
    ["commit", `${run.commit || "unknown"}${run.dirty ? " + changes" : ""}, ${run.date || ""}`], ["build", run.build || "unknown"], ["run by", run.argv || "unknown"],
    ["again", `./rungs run '${some.text}' --variants '${some.op}/${row.s}'${row.g ? ` --draw ${row.g}` : ""}`]];
  const list = element("dl", {}, ...facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, String(value))]));
  const modes = Object.entries(row.t).map(([mode, t]) => {
    const chart = element("div", { class: "chart samples" });
    return { mode, t, chart, part: element("div", {}, element("h3", {}, `${mode}: ${seconds(t.m)}${t.l ? ` (${seconds(t.l)} to ${seconds(t.h)})` : ""}, ${t.n} samples${t.f ? `, ${significant(100 * t.f)}% of the limit` : ""}${t.w ? ` (${t.w})` : ""}${t.k ? `, clock ${t.k}` : ""}`), chart) };
  });
  body.replaceChildren(list, element("ul", {}, ...Object.entries(row.o).map(([name, error]) => outputLine(name, error))), ...modes.map((some_) => some_.part));
  byId("detail").showModal();
  for (const { t, chart } of modes) if (t.s.length > 1) samplesChart(chart, t.s, t.m); else chart.textContent = t.s.length ? "" : "Samples are not in this page; they are in the results file.";
}

// As analysis/foreign.py does: tests/golden/foreign.json has the cases.
function csvCell(value) {
  if (typeof value !== "string") return String(value ?? "");
  const spelled = (found) => { const number = found.charCodeAt(0), short = number < 0x100; return `\\${short ? "x" : "u"}${number.toString(16).padStart(short ? 2 : 4, "0")}`; };
  const text = value.replaceAll("\r\n", "\n").replace(/(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\p{Cs}]/gu, spelled);
  return /^[=+\-@\t]/.test(text) ? `'${text}` : text; // no formula of a spreadsheet
}

// cells: [row, text] each.
function csvText(cells) {
  const quote = (value) => { const text = csvCell(value); return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  const head = ["case", "spec", "device", "machine", "verdict", "shown", "mode", "median_s", "low_s", "high_s", "samples", "share_of_limit", "error_over_bound", "commit", "run"];
  const lines = cells.map(([row, told]) => { const t = row.t[state.mode] || {}; return [data.cases[row.c].text, row.s, row.d, row.m, row.x, told, state.mode, t.m, t.l, t.h, t.n, t.f, row.e, data.runs[row.r]?.commit, row.r]; });
  return [head, ...lines].map((line) => line.map(quote).join(",")).join("\n") + "\n";
}
