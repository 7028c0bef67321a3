"""Lets gnuplot draw window.gp: throughput of the fastest variant that keeps the op's own bound, against the window, by aggregate."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from analysis import rows as r
from analysis import select
from analysis.format import describe
from plots import style

SCRIPT = pathlib.Path(__file__).with_name("window.gp")


def data_of(lines):
    """Blocks for gnuplot: a line's name, then window and GB/s."""
    return "\n\n".join(f'"{name}"\n' + "".join(f"{window:g} {r.work_bytes(row) / r.median(row) / 1e9:.6g}\n" for window, row in sorted(points.items())) for name, points in lines.items())


def draw_lines(results, op, dtype, lines, out):
    rows = [row for points in lines.values() for row in points.values()]
    lines = dict(sorted(lines.items(), key=lambda item: r.median(item[1][max(item[1])])))  # as they end, so the key is in their order
    windows = sorted({r.number(row, "window") for row in rows})
    picture = out / f"throughput_{op}_{dtype}.svg"
    heading = f"Throughput of the fastest variant within the op's own tolerance: {describe(rows[0], 'window', 'agg')}"
    texts = {"out": picture, "heading": re.sub(r"([_^@&~{}])", r"\\\1", heading),  # those are signs in gnuplot's text
             "tics": ",".join(f'"{w:g}" {w:g}' for w in windows), "machine": style.footer_text(results, rows).replace("\n", "   ")}
    numbers = {"low": windows[0], "high": windows[-1], "blocks": len(lines), "ceiling": max((results.ceiling(row) or 0 for row in rows), default=0) / 1e9}
    with tempfile.NamedTemporaryFile("w", suffix=".dat") as data:
        data.write(data_of(lines))
        data.flush()
        settings = ["{}='{}'".format(name, str(text).replace("'", "''")) for name, text in {**texts, "data": data.name}.items()] + [f"{name}={value}" for name, value in numbers.items()]
        done = subprocess.run(["gnuplot", "-e", "; ".join(settings), str(SCRIPT)], capture_output=True, text=True, timeout=60)
    if done.returncode or not picture.exists():
        raise RuntimeError(f"gnuplot could not draw {SCRIPT.name}: {done.stderr.strip()[-300:]}")
    return picture


def draw(results, out):
    if not shutil.which("gnuplot"):
        print("gnuplot is missing, so its figure is left out: apt-get install gnuplot-nox (./rungs does it)", file=sys.stderr)
        return []
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        for dtype in ("f64", "f32"):
            lines = select.fastest_by_window(results, op, dtype)
            if lines:
                pictures.append((draw_lines(results, op, dtype, lines, out), f"Throughput of the fastest variant of {op} within the op's own tolerance, against the window, {dtype}"))
    return pictures
