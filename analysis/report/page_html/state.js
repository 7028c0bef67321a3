// state.js - what is chosen, kept in the address, and which rows that leaves.
"use strict";
const GROUPS = ["kind", "input", "dtype", "size", "device", "machine"];
const NAMES = { op: "op", kind: "case", input: "input", dtype: "dtype", size: "size", device: "device", machine: "machine", mode: "mode" };
const FIRST_CHIPS = 14;
const LEAST_SHARE = 0.25; // of the cases that the variant with most has: with fewer a variant is ranked after the others
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

// [{v, mean, cases, worst, rows}] of ticked variants: geometric mean of time over the best ticked time of each case that all of them have, but those
// with few cases, which stand behind. `common`: how many cases these are; 0: each on its own, as there is none.
function ranking(found) {
  const counts = new Map(), sums = new Map();
  for (const variants of found.values()) for (const name of variants.keys()) if (!state.off.includes(name)) counts.set(name, (counts.get(name) || 0) + 1);
  const least = Math.max(0, ...counts.values()) * LEAST_SHARE, compared = [...counts.keys()].filter((name) => counts.get(name) >= least);
  const common = new Set([...found.keys()].filter((index) => compared.every((name) => found.get(index).has(name))));
  for (const [index, variants] of found) {
    const ticked = [...variants].filter(([name]) => !state.off.includes(name));
    const best = Math.min(...ticked.map(([, row]) => row.t[state.mode].m));
    for (const [name, row] of ticked) {
      if (common.size && !common.has(index) && counts.get(name) >= least) continue;
      const ratio = row.t[state.mode].m / best;
      const entry = sums.get(name) || { v: name, log: 0, cases: 0, worst: 0, wins: 0, device: row.d, declared: false };
      entry.log += Math.log(ratio); entry.cases += 1; entry.worst = Math.max(entry.worst, ratio); entry.wins += ratio === 1; entry.declared ||= Boolean(row.q[2]);
      sums.set(name, entry);
    }
  }
  const entries = [...sums.values()].map((entry) => ({ ...entry, mean: Math.exp(entry.log / entry.cases), few: counts.get(entry.v) < least }))
    .sort((a, b) => a.few - b.few || a.mean - b.mean || a.v.localeCompare(b.v));
  return Object.assign(entries, { common: common.size });
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
