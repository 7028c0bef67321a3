"""The interactive page: one file that needs no network, with the rows, compressed, and Bokeh's scripts inside. Its data are rows, cases, runs, claims and
history as one JSON object, whose keys are read by page_html/*.js."""

import base64
import collections
import gzip
import importlib.util
import json
import math
import pathlib

from analysis import rows as r
from analysis import why
from analysis.format import count, describe, machine_text, param_words, says_something
from analysis.history import changes
from analysis.output import write_whole

FOLDER = pathlib.Path(__file__).with_name("page_html")
SCRIPTS = ("state.js", "charts.js", "tables.js", "claims.js", "main.js")
LIBRARY = ("bokeh.min.js", "bokeh-api.min.js")
MOST_BYTES = 5_000_000
SAMPLES = (400, 100, 40, 12, 0)  # kept of a row and mode: the first that fits


def library():
    found = importlib.util.find_spec("bokeh")
    if not found:
        raise ModuleNotFoundError(name="bokeh")
    folder = pathlib.Path(found.origin).parent / "server/static/js"
    return "\n".join((folder / name).read_text(encoding="utf-8").split("//# sourceMappingURL")[0] for name in LIBRARY)


def inline(script):
    """As it may stand in a script element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def page(results, paths, repository):
    scripts = library()
    template = (FOLDER / "page.html").read_text(encoding="utf-8")
    parts = {
        "STYLE": (FOLDER / "page.css").read_text(encoding="utf-8"),
        "LIBRARY": inline(scripts),
        "SCRIPT": inline("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)),
    }
    text = ""
    for most in SAMPLES:
        data = json.dumps(build(results, paths, most, repository), separators=(",", ":"), allow_nan=False)
        parts["DATA"] = base64.b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode()
        text = template
        for name in ("STYLE", "DATA", "SCRIPT", "LIBRARY"):
            text = text.replace(f"@{name}@", parts[name], 1)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def write(results, paths, out, repository):
    """repository: the folder of the project, whose git orders commits."""
    write_whole(out, page(results, paths, repository), folders=True)


SIZES = ("batch", "n", "rows", "cols")
ERROR_KEYS = "max_ratio max_relative max_absolute max_ulp incomparable unwritten mismatches judgeable count".split()
CLAIM_KEYS = """
    id statement source url section hardware method note claim_kind program law outcome why quantity unit published rule factor band_low band_high
    expected reason here low high processes provisional case variant mode baseline baseline_case baseline_mode output""".split()


def rounded(value, digits=5):
    """JSON has no infinity: what cannot be compared is -1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return float(f"{value:.{digits}g}") if math.isfinite(value) else -1


def size_label(row):
    found = [(key, r.number(row, key)) for key in SIZES if r.number(row, key) is not None]
    return " x ".join(count(value) for key, value in found if (key, value) != ("batch", 1)) or "-"


def size_number(row):
    return math.prod(r.number(row, key) or 1 for key in SIZES)


def kind_label(row):
    """The case without op, sizes, dtype and input: "mean, window = 3000"."""
    shown = ((k, v) for k, v in row["params"].items() if k not in SIZES and says_something(k, v))
    return ", ".join(param_words(k, v) for k, v in shown) or "plain"


def case_of(row):
    return {
        "text": row["case"],
        "op": row["op"],
        "label": f"{describe(row)}, {row['input']}".removeprefix(row["op"]).lstrip(" ,"),
        "dtype": row["dtype"],
        "input": row["input"],
        "size": size_label(row),
        "elements": size_number(row),
        "kind": kind_label(row),
    }


def timing_of(results, row, most):
    found = {}
    for mode, timed in (row.get("timing") or {}).items():
        if timed and timed.get("median"):
            samples = timed.get("samples") or []
            step = max(1, -(-len(samples) // most)) if most else len(samples) + 1
            found[mode] = {
                "m": timed["median"],
                "l": timed.get("low"),
                "h": timed.get("high"),
                "n": timed.get("count") or len(samples),
                "k": timed.get("clock"),
                "s": [rounded(x, 6) for x in samples[::step]],
                "f": rounded(r.share_of_limit(row, mode)) if mode != "first" else None,
                "w": why.sentence(row) if mode == "cold" else None,
            }
    return found


def compared(results):
    """(row, is it of its case's campaign?): of each case the campaign that timed most, of those alike the latest; what was not timed there as it is."""
    timed = collections.defaultdict(dict)
    for campaign, rows in results.campaigns.items():
        for row in rows:
            if row["verdict"] == "pass" and row.get("timing"):
                timed[row["case"], results.machine(row)].setdefault(campaign, {})[row["spec"], r.is_declared(row)] = row
    found = []
    for row in results.rows:
        campaigns = timed.get((row["case"], results.machine(row)), {})
        chosen = max(reversed(list(campaigns)), key=lambda campaign: len(campaigns[campaign]), default=None)
        beside = (
            campaigns[chosen].get((row["spec"], r.is_declared(row))) if chosen and row["verdict"] == "pass" else None
        )
        found.append((beside or row, beside is not None or not row.get("timing")))
    return found


def row_of(results, row, case, most):
    errors = {
        name: {key: rounded(e[key], 3) for key in ERROR_KEYS if e.get(key) not in (None, 0)}
        for name, e in (row.get("errors") or {}).items()
    }
    ratio = r.worst_ratio(row)
    return {
        "c": case,
        "v": r.name_of(row),
        "s": r.name_of(row["spec"]),
        "d": "emulator" if r.is_emulated(row) else r.device_of(row),
        "b": row["backend"],
        "m": results.machine(row),
        "r": row.get("run"),
        "x": row["verdict"],
        "w": row.get("reason") or row.get("why_not_timed") or results.why_not_ranked(row) or None,
        "e": rounded(ratio, 3) if ratio is not None else None,
        "u": r.unjudged(row),
        "g": row.get("draw"),
        "t": timing_of(results, row, most),
        "o": errors,
        "q": [(row.get("bound") or {}).get(key) for key in ("name", "formula", "declared")],
    }


def run_of(e):
    build, gpu, cpu = e.get("build") or {}, e.get("gpu") or {}, e.get("cpu") or {}
    return {
        "machine": r.machine_name(e),
        "commit": e.get("commit"),
        "dirty": e.get("dirty"),
        "date": e.get("date"),
        "argv": " ".join(e.get("argv") or []),
        "driver": gpu.get("driver"),
        "cpu": cpu.get("model"),
        "threads": cpu.get("threads"),
        "os": e.get("os"),
        "build": f"{build.get('type')}: {build.get('compiler')}, {build.get('cuda_compiler') or 'no CUDA compiler'}",
    }


def history_of(paths, repository):
    """Series of two commits and more, with the points at which a new level begins, and the steps of whole machines: the marks of HISTORY.md."""
    _, all_series, together = changes.marked(paths, repository)
    series = [
        {
            "op": one.row["op"],
            "case": one.row["case"],
            "spec": r.name_of(one.row["spec"]),
            "v": r.name_of(one.row),
            "mode": one.mode,
            "machine": dict(one.machine).get("device"),
            "points": [[p.commit, p.seconds, p.low, p.high, p.processes] for p in one.points],
            "steps": [[int(index), rounded(ratio)] for index, ratio in one.steps()],
        }
        for one in all_series
    ]
    machines = [
        {"machine": machine_text(one.machine), "commit": one.order[start], "ratio": rounded(float(ratio))}
        for one in together
        for start, ratio in one.steps()
    ]
    return {"series": series, "machines": machines}


def build(results, paths, most_samples, repository):
    """most_samples: of a row and mode; 0 for none."""
    cases, index = [], {}
    rows = []
    for row, beside in compared(results):
        if row["case"] not in index:
            index[row["case"]] = len(cases)
            cases.append(case_of(row))
        rows.append({**row_of(results, row, index[row["case"]], most_samples), **({} if beside else {"a": 1})})
    used = {data["r"] for data in rows}
    claims = [{**{key: c.get(key) for key in CLAIM_KEYS}, "op": r.op_of(c)} for c in results.claims]
    return {
        "cases": cases,
        "rows": rows,
        "runs": {run: run_of(e) for run, e in results.environments.items() if run in used},
        "claims": claims,
        "history": history_of(paths, repository),
        "most_samples": most_samples,
        "warnings": results.warnings,
    }
