"""Reads results files (docs/RESULTS.md): what figures and the report are made from. Standard library only."""
import collections
import json
import math
import pathlib
import re

SCHEMA = 1
MODES = ("cold", "hot", "graph", "enqueue", "complete", "first")
RULES = ("about", "at_least", "at_most", "range")  # of claims


class BadResults(Exception):
    """A results file that cannot be used; the message names file and line."""


class NoRows(BadResults):
    """Good files, but not one row in them."""


class Results:
    """Everything read, the latest row for each machine, case and variant with its tunables."""

    def __init__(self, environments, ceilings, rows, claims, warnings, traces=()):
        self.environments = environments  # run -> environment
        self.ceilings = ceilings          # run -> device -> name -> ceiling
        self.rows = rows
        self.claims = claims
        self.warnings = warnings
        self.traces = list(traces)        # timelines beside the files
        self.times = {}                   # (machine, case, spec, mode) -> median, for speed-ups
        self.held = collections.Counter(row["spec"] for row in rows)
        for row in rows:
            for mode, timed in (row.get("timing") or {}).items():
                if timed and timed.get("median"):
                    self.times[machine_of(self, row), row["case"], row["spec"], mode] = timed

    def environment(self, row):
        return self.environments.get(row.get("run")) or {}


def load(paths):
    """Later runs win, but what was emulated never wins over what ran. A last line that a crash cut off is left out,
    with a warning. A file of claims alone (rungs judge) judges anew all scenarios that it has."""
    environments, ceilings, latest_rows, latest_claims, warnings, everything, judged = {}, {}, {}, {}, [], [], {}
    for path in paths:
        lines = list(read_lines(pathlib.Path(path), warnings))
        if lines and all(line["kind"] == "claim" for line in lines):
            judged.update({scenario: [c for c in lines if c.get("scenario") == scenario] for scenario in {c.get("scenario") for c in lines}})
        else:
            everything += lines
    dates = {line.get("run"): line.get("date") or "" for line in everything if line["kind"] == "environment"}
    everything.sort(key=lambda line: dates.get(line.get("run"), ""))  # stable: within a run, the order of the file
    for line in everything:
        if line["kind"] == "environment":
            environments[line.get("run")] = line
    machines = {run: machine_name(environment) for run, environment in environments.items()}
    old_rules = 0
    for line in everything:
        machine = machines.get(line.get("run"), "unknown machine")
        if line["kind"] == "ceilings":
            by_name = {c["name"]: c for c in line.get("ceilings") or [] if c.get("name") and c.get("value")}
            ceilings.setdefault(line.get("run"), {})[line.get("device") or "unknown device"] = by_name
        elif line["kind"] == "row":
            settle(line)
            key = machine, line.get("case"), line.get("spec"), is_emulated(line), is_declared(line)
            earlier = latest_rows.get(key)
            if not only_verifies(line, earlier) and not times_less(line, earlier, environments):
                latest_rows[key] = line
        elif line["kind"] == "claim" and line.get("scenario") not in judged:
            if line.get("rule") in RULES:
                latest_claims[machine, line.get("id")] = line
            else:
                old_rules += 1
    if not latest_rows:
        names = ", ".join(map(str, paths)) or "no file at all"
        raise NoRows(f"{names}: no rows; run 'rungs reproduce' first")
    if old_rules:
        warnings.append(f"claims judged by rules of before, left out: {old_rules}; 'rungs judge' judges them anew")
    claims = list(latest_claims.values()) + [c for lines in judged.values() for c in lines]
    newest = {}
    for claim in claims:  # those of a scenario stay together, in its order, though their rows be of several runs
        newest[claim.get("scenario")] = max(newest.get(claim.get("scenario"), ""), dates.get(claim.get("run"), ""))
    claims.sort(key=lambda c: (newest[c.get("scenario")], str(c.get("scenario"))))
    return Results(environments, ceilings, without_stand_ins(latest_rows), claims, warnings, traces_beside(paths))


def traces_beside(paths):
    """NAME-timeline.json in the folders of these files; of two of one op the later name is drawn last, over the other."""
    return sorted({trace for folder in {pathlib.Path(path).resolve().parent for path in paths} for trace in folder.glob("*-timeline.json")})


def without_stand_ins(latest):
    """Emulated rows are left out where the same case and variant ran in earnest on the same machine."""
    real = {key[:3] for key, row in latest.items() if not is_emulated(row) and row["verdict"] != "skip"}
    return [row for key, row in latest.items() if not is_emulated(row) or key[:3] not in real]


def only_verifies(row, earlier):
    """A run that took no times has nothing to say about a row that was right and timed before, unless it finds it wrong."""
    return bool(earlier and earlier.get("timing") and row["verdict"] == "pass" and not row.get("timing"))


def times_less(row, earlier, environments):
    """Two scenarios of one build may time a case in more modes and in fewer: the row with more of them stays."""
    if not earlier or row["verdict"] != "pass" or earlier["verdict"] != "pass":
        return False
    builds = [(e.get("commit"), e.get("build")) for e in (environments.get(line.get("run")) or {} for line in (row, earlier))]
    modes = [{mode for mode, timed in (line.get("timing") or {}).items() if timed} for line in (row, earlier)]
    return builds[0] == builds[1] and modes[0] < modes[1]


# (op, parameter) -> how a value was spelt in rows of before: spelt, now.
SPELT = {("ewm", "adjust"): {"yes": "true", "no": "false"}}
WHOLE = re.compile(r"(?<==)\d(?:\.\d+)?e\+0\d(?= )")  # 3e+02, in texts of cases


def respell(row):
    """Older rows join newer ones of the same case."""
    case = row.get("case") or ""
    for (op, name), now in SPELT.items():
        value = row["params"].get(name)
        if row.get("op") == op and value in now:
            row["params"][name] = now[value]
            case = case.replace(f" {name}={value} ", f" {name}={now[value]} ")
    row["case"] = WHOLE.sub(lambda number: f"{float(number.group()):.0f}", case)


def settle(row):
    """What is null or absent where the readers need something to ask; all else is asked for with care."""
    row["params"] = row.get("params") or {}
    respell(row)
    row["dtype"] = row.get("dtype") or "unknown dtype"
    row["input"] = row.get("input") or "unknown input"
    if row.get("errors"):
        row["errors"] = {name: e for name, e in row["errors"].items() if e}
    return row


def read_lines(path, warnings):
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadResults(f"{path}: cannot be read: {error}") from error
    lines = text.split("\n")
    cut = lines.pop()
    if cut:
        warnings.append(f"{path}: the last line is cut off and left out")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadResults(f"{path}:{number}:{error.colno}: not JSON: {error.msg}") from error
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            raise BadResults(f"{path}:{number}: a line must be a JSON object with a 'kind'")
        if value.get("schema") != SCHEMA:
            raise BadResults(f"{path}:{number}: schema {value.get('schema')}; this program reads schema {SCHEMA}")
        missing = [key for key in ("case", "op", "variant", "spec", "verdict", "backend") if key not in value] if value["kind"] == "row" else []
        if missing:
            raise BadResults(f"{path}:{number}: a row without {', '.join(missing)}")
        yield value


def machine_name(environment):
    gpu, cpu = environment.get("gpu") or {}, environment.get("cpu") or {}
    return gpu.get("name") or f"{cpu.get('model') or 'unknown CPU'}, no GPU"


def machine_of(results, row):
    return machine_name(results.environment(row)) if row.get("run") in results.environments else "unknown machine"


def name_of(row_or_id):
    """cuda_shared from rolling/cuda_shared."""
    text = row_or_id if isinstance(row_or_id, str) else row_or_id["variant"]
    return text.split("/", 1)[-1]


def spec_name(row):
    return row["spec"].split("/", 1)[-1]


def timing(row, mode):
    """The mode's statistics if it has any, else None."""
    timed = (row.get("timing") or {}).get(mode)
    return timed if timed and timed.get("median") else None


def median(row, mode="cold"):
    timed = timing(row, mode)
    return timed["median"] if timed else None


def work_bytes(row):
    return (row.get("work") or {}).get("bytes") or None


def device_of(row):
    """Which ceilings hold for a row: a peer runs where its clock says."""
    if row["backend"] == "peer":
        clocks = [(t or {}).get("clock") or "" for t in (row.get("timing") or {}).values()]
        waits = "jax" in name_of(row)  # on a GPU, timed by the host's clock until the result is there
        return "cuda" if waits or any("cuda" in clock for clock in clocks) else "cpu"
    return "cpu" if row["backend"] == "cpu" else "cuda"


READING_OPS = {"moments"}  # outputs are a vanishing part of the bytes: reading is the limit, not copying


def ceiling_name(row):
    return "read" if row["op"] in READING_OPS else "copy"


def ceiling(results, row, name=None):
    name = name or ceiling_name(row)
    found = results.ceilings.get(row.get("run"), {}).get(device_of(row), {}).get(name)
    return found["value"] if found else None


def fraction(results, row, mode="cold"):
    """Of the copy (or read) ceiling of the same run, by the op's work model."""
    seconds, size, top = median(row, mode), work_bytes(row), ceiling(results, row)
    return size / seconds / top if seconds and size and top else None


def baseline_spec(results, row):
    """The spec of the row's baseline: the id as it is, else of those with tunables of that id in the same case the one that most rows
    have: the default."""
    baseline = row.get("baseline")
    if not baseline:
        return None
    machine = machine_of(results, row)
    specs = {r["spec"] for r in results.rows if r["case"] == row["case"] and baseline in (r["spec"], r["variant"]) and machine_of(results, r) == machine}
    return min(specs, key=lambda spec: (-results.held[spec], spec), default=None)


def speedup(results, row, mode="cold", over=None):
    """Time of the row's baseline, or of the spec `over`, over ours on the same machine and case."""
    spec = over or baseline_spec(results, row)
    base = results.times.get((machine_of(results, row), row["case"], spec, mode)) if spec else None
    seconds = median(row, mode)
    return base["median"] / seconds if base and seconds else None


def worst_ratio(row):
    """The largest error as a multiple of its bound over all outputs; inf where something is not comparable; None if nothing ran."""
    errors = row.get("errors")
    if not errors:
        return None
    worst = 0.0
    for e in errors.values():
        if "mismatches" in e:  # right to the byte, or wrong
            worst = max(worst, math.inf if e["mismatches"] else 0.0)
            continue
        if e.get("incomparable") or e.get("unwritten") or e.get("max_ratio") is None:
            return math.inf
        worst = max(worst, e["max_ratio"])
    return worst


def worst_error(row, key="l2_relative"):
    """As worst_ratio, but the error itself."""
    if worst_ratio(row) is None:
        return None
    if any(e.get("incomparable") or e.get("unwritten") for e in row["errors"].values()):
        return math.inf
    values = [0.0 if e.get("max_absolute", e.get("mismatches")) == 0 else e.get(key) for e in row["errors"].values()]  # 0 of 0 is exact
    return math.inf if any(v is None for v in values) else max(values)


def is_declared(row):
    return bool((row.get("bound") or {}).get("declared"))


def number(row, name):
    value = (row.get("params") or {}).get(name)
    return value if isinstance(value, (int, float)) else None


def is_emulated(row):
    return row["backend"] == "emulator"
