"""Lets gnuplot draw window.gp: throughput of the fastest variant that keeps the op's own bound, against the window, by aggregate."""
import collections
import pathlib
import shutil
import subprocess
import sys

import choose
import rows as r
import style
from words import count

SCRIPT = pathlib.Path(__file__).with_name("window.gp")


def fastest_throughput(results, op, dtype):
    """aggregate -> [(window, GB/s)] and the rows behind it; the largest n that has three windows."""
    rows = [row for row in choose.on_main_machine(results, choose.timed_rows(results)) if row["op"] == op and row.get("dtype") == dtype
            and r.number(row, "window") and r.work_bytes(row) and row["backend"] != "peer" and not r.is_declared(row)]
    found = collections.defaultdict(dict)
    for row in rows:
        key = row.get("input"), choose.other_params(row, "window", "agg")
        points = found[key].setdefault(str(row["params"].get("agg", op)), {})
        window = r.number(row, "window")
        if window not in points or r.median(row) < r.median(points[window]):
            points[window] = row
    found = {key: lines for key, lines in found.items() if max(len(points) for points in lines.values()) >= 3}
    return max(found.values(), key=lambda lines: (sum(map(len, lines.values())), max(r.number(row, "n") or 0 for p in lines.values() for row in p.values())), default={})


def write_data(lines, path):
    blocks = []
    for name, points in lines.items():
        body = "\n".join(f"{window:g} {r.work_bytes(row) / r.median(row) / 1e9:.6g}" for window, row in sorted(points.items()))
        blocks.append(f'"{name}"\n{body}\n')
    path.write_text("\n\n".join(blocks))


def draw_lines(results, op, dtype, lines, out):
    rows = [row for points in lines.values() for row in points.values()]
    lines = dict(sorted(lines.items(), key=lambda item: r.median(item[1][max(item[1])])))  # as they end, so the key is in their order
    data = out / f"throughput_{op}_{dtype}.dat"
    write_data(lines, data)
    windows = [r.number(row, "window") for row in rows]
    top = max((r.ceiling(results, row) or 0 for row in rows), default=0)
    variables = {"data": str(data), "heading": f"Throughput of the fastest variant within the full bound: {choose.describe(rows[0], 'window', 'agg')}",
                 "tics": ",".join(f'"{w:g}" {w:g}' for w in sorted(set(windows))),
                 "machine": style.footer_text(results, rows).replace("\n", "   ")}
    for form in ("png", "svg"):
        words = {**variables, "form": form, "out": str(data.with_suffix("." + form))}
        settings = "; ".join("{}='{}'".format(k, v.replace("'", "''")) for k, v in words.items())
        numbers = f"; low={min(windows)}; high={max(windows)}; blocks={len(lines)}; ceiling={top / 1e9}"
        done = subprocess.run(["gnuplot", "-e", settings + numbers, str(SCRIPT)], capture_output=True, text=True, timeout=60)
        if done.returncode or not pathlib.Path(words["out"]).exists():
            raise RuntimeError(f"gnuplot could not draw {SCRIPT.name}: {done.stderr.strip()[-300:]}")
    return data.with_suffix(".png")


def draw(results, out):
    if not shutil.which("gnuplot"):
        print("gnuplot is missing, so its figure is left out: apt-get install gnuplot-nox (./rungs does it)", file=sys.stderr)
        return []
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        for dtype in ("f64", "f32"):
            lines = fastest_throughput(results, op, dtype)
            if lines:
                pictures.append((draw_lines(results, op, dtype, lines, out), f"Throughput of the fastest variant of {op} that keeps the full bound, against the window, {dtype}"))
    return pictures
