"""Which rows a figure or table is about: groups of cases that differ in one thing only."""
import collections
import math

import rows as r


def timed_rows(results, mode="cold"):
    return [row for row in results.rows if r.median(row, mode)]


def other_params(row, *left_out):
    """The case without the named parameters, as something that can be compared."""
    params = row.get("params") or {}
    return tuple(sorted((k, str(v)) for k, v in params.items() if k not in left_out))


def groups(rows, *left_out, input_too=True):
    """(op, dtype, input, other parameters) -> rows."""
    found = collections.defaultdict(list)
    for row in rows:
        found[row["op"], row.get("dtype"), row.get("input") if input_too else None, other_params(row, *left_out)].append(row)
    return found


def weight(row):
    """How much a case tells of throughput: the decades of its bytes beyond what a launch takes to move."""
    return max(0.1, math.log10(max(r.work_bytes(row) or 1, 1)) - 5)


def fastest_per_variant(rows, mode="cold"):
    """variant -> its fastest row: one tuning per variant and case."""
    best = {}
    for row in rows:
        t = r.median(row, mode)
        if t and (row["variant"] not in best or t < r.median(best[row["variant"]], mode)):
            best[row["variant"]] = row
    return best


USUAL = {"incomplete": "nan", "degenerate": "nan", "columns": "alike", "order": 4, "k": 0, "direction": "right", "gamma_per": "all", "reference": "received", "adjust": "true",
         "nan": "decay", "min_periods": 1, "alpha": 0, "com": -1, "halflife": 0, "batch": 1, "names_bytes": 0, "visibilities_bytes": 0, "redacted_bytes": 0}


def says_something(key, value):
    """Words that stand for "nothing special" are left out of titles."""
    return value != "none" and (key not in USUAL or USUAL[key] != value)


def describe(row, *left_out):
    """"rolling mean, n = 1e8, f64" for titles, without the named parameters and without defaults that only repeat."""
    from words import count
    params = row.get("params") or {}
    words = [row["op"]]
    numbers = []
    for key, value in params.items():
        if key in left_out or not says_something(key, value):
            continue
        if isinstance(value, str):
            words.append(value if key == "agg" else f"{key} {value}")
        else:
            numbers.append(f"{key} = {count(value)}")
    return ", ".join([" ".join(words), *numbers, str(row.get("dtype"))])


def describe_text(case):
    """The same of a case's canonical text: "redact, rows = 600000, i32, input names"."""
    op, *words = case.split()
    pairs = [word.partition("=")[::2] for word in words]
    values = {key: int(value) if value.isdigit() else value for key, value in pairs}
    row = {"op": op, "dtype": values.pop("dtype", "unknown dtype"), "params": {k: v for k, v in values.items() if k not in ("input", "seed")}}
    return describe(row) + (f", input {values['input']}" if "input" in values else "") + (f", seed {values['seed']}" if values.get("seed", 1) != 1 else "")


def main_machine(results):
    """The machine that has most timed rows, GPUs first: figures show one machine."""
    count = collections.Counter()
    for row in timed_rows(results):
        gpu = (results.environment(row).get("gpu") or {}).get("name")
        count[r.machine_of(results, row)] += 1 + (10**6 if gpu else 0)
    return count.most_common(1)[0][0] if count else None


def on_main_machine(results, rows):
    machine = main_machine(results)
    return [row for row in rows if r.machine_of(results, row) == machine]
