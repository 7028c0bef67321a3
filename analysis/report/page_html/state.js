// state.js - what is chosen, kept in the address, and which rows that leaves.
"use strict";
const GROUPS = ["kind", "input", "dtype", "size", "device", "machine"];
const NAMES = { op: "op", kind: "case", input: "input", dtype: "dtype", size: "size", device: "device", machine: "machine", mode: "mode" };
const FIRST_CHIPS = 14;
const LEAST_SHARE = 0.25; // of the cases of the variant that has most: what a ranking keeps in common at least
let data = null;
let state = { op: null, mode: "cold", tolerance: 0, factor: null, off: [], sort: null, pick: {} };

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function seconds(value) {
  if (value === null || value === undefined) return "-";
  for (const [unit, scale] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]]) if (value >= scale) return `${significant(value / scale)} ${unit}`;
  return `${significant(value / 1e-9)} ns`;
}

function significant(value) {
  if (value === null || value === undefined) return "-";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential(2);
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en", { minimumFractionDigits: Math.min(digits, 6), maximumFractionDigits: Math.min(digits, 6) });
}

const field = { kind: (row) => data.cases[row.c].kind, input: (row) => data.cases[row.c].input, dtype: (row) => data.cases[row.c].dtype,
  size: (row) => data.cases[row.c].size, device: (row) => row.d, machine: (row) => row.m };

async function readData() {
  const packed = Uint8Array.from(atob(byId("data").textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const opOf = (row) => data.cases[row.c].op;
const ofOp = () => data.rows.filter((row) => opOf(row) === state.op);

// Rows that the chips leave; without: a group whose own chips do not count.
function chosenRows(without = null) {
  return ofOp().filter((row) => GROUPS.every((group) => group === without || !(state.pick[group] || []).length || state.pick[group].includes(field[group](row))));
}

// A verified time: passed, timed in this mode, and within the tolerance that the slider asks for.
const timed = (row) => row.x === "pass" && row.t[state.mode];
const alone = (row) => Boolean(row.a); // no other time of its case is of the same card and build: it is shown, not compared
const within = (row) => row.e === null || (row.e >= 0 && row.e <= 10 ** state.tolerance);

// case index -> variant -> its fastest verified row.
function fastest(rows) {
  const found = new Map();
  for (const row of rows) {
    if (!timed(row) || !within(row) || alone(row)) continue;
    if (!found.has(row.c)) found.set(row.c, new Map());
    const best = found.get(row.c).get(row.v);
    if (!best || row.t[state.mode].m < best.t[state.mode].m) found.get(row.c).set(row.v, row);
  }
  return found;
}

// Which ticked variants are compared, and on which cases: all of those have all of these. From the variant with most cases on, each joins as long as
// LEAST_SHARE of that one's cases stay common; the others have no rank.
function comparable(found) {
  const cases = new Map(), ranked = new Set();
  for (const [index, variants] of found) for (const name of variants.keys()) if (!state.off.includes(name)) cases.set(name, (cases.get(name) || new Set()).add(index));
  const order = [...cases].sort((a, b) => b[1].size - a[1].size || a[0].localeCompare(b[0]));
  let common = order.length ? order[0][1] : new Set();
  const least = Math.max(1, common.size * LEAST_SHARE);
  for (const [name, own] of order) {
    const both = new Set([...common].filter((index) => own.has(index)));
    if (both.size >= least) { common = both; ranked.add(name); }
  }
  return { cases, ranked, common };
}

// The geometric mean of a variant's time over another's, on the cases that both have, and how many these are.
function pairwise(found, name, other) {
  const logs = [...found.values()].filter((variants) => variants.has(name) && variants.has(other)).map((variants) => Math.log(variants.get(name).t[state.mode].m / variants.get(other).t[state.mode].m));
  return { shared: logs.length, ratio: Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length) };
}

// [{v, mean, cases, worst, wins}] of ticked variants: the geometric mean of time over the best time of each common case; then those without a rank, each beside the leader.
function ranking(found) {
  const { cases, ranked, common } = comparable(found), entries = new Map();
  for (const [name, own] of cases) entries.set(name, { v: name, log: 0, cases: own.size, worst: 0, wins: 0, device: "", declared: false, few: !ranked.has(name) });
  for (const [index, variants] of found) {
    const best = Math.min(...[...variants].filter(([name]) => ranked.has(name)).map(([, row]) => row.t[state.mode].m));
    for (const [name, row] of variants) {
      const entry = entries.get(name), ratio = row.t[state.mode].m / best;
      if (!entry) continue;
      entry.device = row.d; entry.declared ||= Boolean(row.q[2]);
      if (entry.few || !common.has(index)) continue;
      entry.log += Math.log(ratio); entry.worst = Math.max(entry.worst, ratio); entry.wins += ratio === 1;
    }
  }
  const leader = [...ranked].sort((a, b) => entries.get(a).log - entries.get(b).log)[0];
  for (const entry of entries.values()) if (entry.few) Object.assign(entry, { leader, ...pairwise(found, entry.v, leader) });
  const done = [...entries.values()].map((entry) => ({ ...entry, mean: entry.few ? Infinity : Math.exp(entry.log / common.size) }));
  return Object.assign(done.sort((a, b) => a.few - b.few || (a.few ? b.cases - a.cases : a.mean - b.mean) || a.v.localeCompare(b.v)), { common: common.size });
}

function saveState() {
  const text = encodeURIComponent(JSON.stringify(state));
  history.replaceState(null, "", `#s=${text}`);
}

function loadState() {
  const match = /^#s=(.+)$/.exec(location.hash);
  if (!match) return false;
  try {
    const found = JSON.parse(decodeURIComponent(match[1]));
    if (found && typeof found === "object") state = { ...state, ...found, pick: found.pick || {}, off: found.off || [] };
    return true;
  } catch { return false; }
}

function defaultOp() {
  const count = new Map();
  for (const row of data.rows) count.set(opOf(row), (count.get(opOf(row)) || 0) + (Object.keys(row.t).length ? 100 : 1));
  return [...count].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}
