"""Time against a size or a window, drawn by gnuplot (sweep.gp), as SVG or as text for a terminal: at most seven variants in colour, named at the end of their line;
the others grey; the limit dashed; what the source printed dotted; what failed verification hollow, at the top, where it failed."""

import math
import os
import pathlib
import shutil
import subprocess
import sys

from analysis import published, select
from analysis import rows as r
from analysis.claim_text import published_programs
from analysis.foreign import terminal
from analysis.format import count, describe, seconds
from analysis.output import write_whole
from plots import figures_ladder, style

SCRIPT = pathlib.Path(__file__).with_name("sweep.gp")
PARAMETERS = {"window": "window w (elements)", "n": "elements n", "rows": "rows", "cols": "columns", "batch": "rows"}
LEAST_POINTS, MOST_COLOURED, MOST_GREY = 4, 7, 12
GREY, BLACK = "#C4C4C4", "#222222"
POINTS = (7, 5, 9, 13, 11, 15, 3)
SHORTEST = 1e-6  # no launch ends sooner: the limit of less would only stretch the axis
MARGIN = 1.6  # the axis beyond its points, as a factor
QUOTA = {
    "cuda": 3,
    "published": 2,
    "peer": 2,
}  # of the coloured lines, the fastest of each kind; then whatever is fastest


def lines_of(group, parameter):
    """spec -> [(value, row)] of each variant's tuning with most points, at least three; fastest at the end first."""
    found = {}
    for row in group:
        if r.median(row):
            specs = found.setdefault((row["variant"], r.is_declared(row)), {})
            specs.setdefault(row["spec"], {})[r.number(row, parameter)] = row
    lines = {}
    for (variant, declared), specs in found.items():
        spec = min(specs, key=lambda spec: (-len(specs[spec]), sum(map(r.median, specs[spec].values())), spec))
        if len(specs[spec]) >= 3:
            lines[variant, declared] = sorted(specs[spec].items())
    return dict(sorted(lines.items(), key=lambda item: (-item[1][-1][0], r.median(item[1][-1][1]))))


def coloured(lines, published):
    """Those to colour: by kind, the fastest of each; then the fastest left."""
    kinds = {key: figures_ladder.kind_of(points[0][1], published) for key, points in lines.items()}
    chosen = [key for kind, most in QUOTA.items() for key in [k for k in lines if kinds[k] == kind][:most]]
    chosen += [key for key in lines if key not in chosen][: MOST_COLOURED - len(chosen)]
    return [key for key in lines if key in chosen]


def limit_line(group, parameter):
    """[(value, seconds)]: the limit of the rows."""
    points = {}
    for row in group:
        share = r.share_of_limit(row)
        if share and r.device_of(row) == "cuda":
            points[r.number(row, parameter)] = r.median(row) * share
    return sorted((value, time) for value, time in points.items() if time > SHORTEST)


def failures(results, group, parameter, keys):
    """[(value, key)] of the coloured variants that failed verification at a value of the sweep."""
    (case,) = select.groups(group[:1], parameter)
    wrong = [row for row in results.rows if row["verdict"] in ("fail", "error") and r.number(row, parameter)]
    rows = select.groups(select.on_main_machine(results, wrong), parameter).get(case, ())
    found = {(r.number(row, parameter), (row["variant"], r.is_declared(row))) for row in rows}
    return sorted((value, key) for value, key in found if key in keys)


def ticks(values):
    """Those whose numbers do not touch; the last always."""
    apart = math.log(values[-1] / values[0]) / 9
    shown = [values[-1]]
    for value in reversed(values[:-1]):
        if math.log(shown[-1] / value) >= apart:
            shown.append(value)
    return shown[::-1]


def label_places(ends, bottom, top, height):
    """Of (y, ...) the places of their labels, apart, in the same order."""
    gap = math.log(top / bottom) * 15 / height
    return [math.exp(place) for place in style.spread([math.log(y) for y in ends], gap)]


def quoted(value):
    """As gnuplot reads it."""
    return "'" + terminal(value).replace("'", "''") + "'" if isinstance(value, str) else str(value)


def point(x, row):
    """(x, median, low, high)"""
    timed, median = r.timing(row, "cold"), r.median(row)
    return x, median, timed.get("low") or median, timed.get("high") or median


def memory_file():
    return os.fdopen(os.memfd_create("sweep"), "wb")


class Sweep:
    """What is drawn, before gnuplot: lines with their names, colours and points."""

    def __init__(self, results, op, dtype, parameter, group):
        self.results, self.group, self.parameter = results, group, parameter
        self.name = f"sweep_{op}_{parameter}_{dtype}"
        originals = published_programs([c for c in results.claims if r.op_of(c) == op])
        lines = lines_of(group, parameter)
        self.keys = keys = coloured(lines, originals)
        self.lines = {key: lines[key] for key in [k for k in lines if k not in keys][:MOST_GREY] + keys}
        self.colours = {key: style.COLOURS[k] for k, key in enumerate(keys)}
        self.limit = limit_line(group, parameter)
        self.failed = failures(results, group, parameter, keys)
        self.printed = published.series(op, parameter, group[0])  # what the source's table has, of its hardware
        names = {r.name_of(variant): self.colours[variant, declared] for variant, declared in keys}
        printed = self.printed.lines if self.printed else {}
        self.there = [(name, names[name], points) for name, points in printed.items() if name in names]

    def label(self, key):
        return figures_ladder.name_in(self.lines[key][0][1])

    def case(self):
        there = f"; dotted: published, {self.printed.hardware}" if self.there else ""
        return f"{describe(self.group[0], self.parameter)}, {self.group[0]['input']}{there}"

    def title(self):
        """What is seen: the fastest at the largest value, and how far it is from the limit there."""
        strict = [key for key in self.keys if not key[1]] or self.keys
        best = min(strict, key=lambda key: (-self.lines[key][-1][0], r.median(self.lines[key][-1][1])))
        value, row = self.lines[best][-1]
        share = r.share_of_limit(row)
        far = f", {100 * share:.2g}% of the limit" if share else ""
        ends = [self.lines[key][-1] for key in self.keys]
        beaten = any(x == value and r.median(other) < r.median(row) for x, other in ends)
        return f"{self.label(best)} is fastest{' within the tolerance' if beaten else ''} at {self.parameter} = {count(value)}{far}"

    def files(self, dumb, size):
        """The texts of sweep.set and sweep.dat."""
        width, height = size
        lines = {key: points for key, points in self.lines.items() if key in self.keys or not dumb}
        blocks = [[point(x, row) for x, row in points] for points in lines.values()]
        looks = {key: (self.colours[key], 1, POINTS[k], self.label(key)) for k, key in enumerate(self.keys)}
        styles = [looks.get(key, (GREY, 1, 0, "")) for key in lines]
        if len(self.limit) > 1:
            blocks.append([(x, y, y, y) for x, y in self.limit])
            styles.append((BLACK, 2, 0, "limit"))
        for name, colour, points in self.there:
            blocks.append([(x, y, y, y) for x, y in points])
            styles.append((colour, 3, 0, f"published: {name}"))
        values = sorted({x for block in blocks for x, *_ in block})
        times = [y for block in blocks for _, _, low, high in block for y in (low, high)]
        bottom, top = min(times) / MARGIN, max(times) * MARGIN * (1.8 if self.failed else 1)
        failed = [(x, top / 1.25, int(self.colours[key][1:], 16)) for x, key in self.failed]
        ends = [
            (self.lines[key][-1][0], r.median(self.lines[key][-1][1]), self.label(key), self.colours[key])
            for key in self.keys
        ]
        if len(self.limit) > 1:
            ends.append((*self.limit[-1], "limit", BLACK))
        high = values[-1] * MARGIN**0.5
        places = label_places([y for _, y, *_ in ends], bottom, top, 0.75 * height)
        labels = [
            (high, y, f'"{terminal(text).replace(chr(34), chr(39))}"', int(colour[1:], 16))
            for (*_, text, colour), y in zip(ends, places)
        ]
        if self.failed:
            labels.append((high, top / 1.25, '"hollow: failed, not timed"', int(style.MUTED[1:], 16)))
        decades = [10.0**k for k in range(-9, 5) if bottom <= 10.0**k <= top]
        settings = {
            "heading": self.title(),
            "case": self.case(),
            "machine": style.footer_text(self.results, self.group).replace("\n", "   "),
            "what": PARAMETERS[self.parameter],
            "tics": ",".join(f'"{count(v)}" {v:g}' for v in ticks(values)),
            "time_tics": ",".join(f'"{seconds(d, 1)}" {d:g}' for d in decades),
        }
        numbers = {
            "dumb": int(dumb),
            "low": values[0] / MARGIN**0.5,
            "high": high,
            "bottom": bottom,
            "top": top,
            "right": 3 + max(len(text) for _, _, text, _ in ends),
            "width": width,
            "height": height,
            "lines": len(blocks),
        }
        text = [f"{key} = {quoted(value)}" for key, value in (settings | numbers).items()]
        for name, values in zip(("Colour", "Dash", "Point", "Name"), zip(*styles)):
            text.append(f"array {name}[{len(styles)}] = [{','.join(map(quoted, values))}]")
        blocks += [failed or [("NaN", "NaN", 0)], labels]
        data = ("\n".join(" ".join(map(str, line)) for line in block) for block in blocks)
        return "\n".join(text) + "\n", "\n\n\n".join(data) + "\n"

    def draw(self, dumb=False, size=(860, 470)):
        """The picture. gnuplot reads from files in memory, so that none can be left."""
        with memory_file() as settings, memory_file() as data:
            for file, text in zip((settings, data), self.files(dumb, size)):
                file.write(text.encode())
                file.flush()
            names = f"settings='/proc/self/fd/{settings.fileno()}'; data='/proc/self/fd/{data.fileno()}'"
            done = subprocess.run(
                ["gnuplot", "-e", names, str(SCRIPT)],
                capture_output=True,
                text=True,
                timeout=60,
                pass_fds=(settings.fileno(), data.fileno()),
            )
        if done.returncode:
            raise RuntimeError(f"gnuplot could not draw {SCRIPT.name}: {done.stderr.strip()[-300:]}")
        return done.stdout


def sweeps(results):
    """Every figure that these rows allow."""
    found = []
    for op in sorted({row["op"] for row in results.rows}):
        for dtype in sorted({row["dtype"] for row in results.rows if row["op"] == op}):
            for parameter in PARAMETERS:
                if group := select.longest_sweep(results, op, dtype, parameter, LEAST_POINTS):
                    found.append(Sweep(results, op, dtype, parameter, group))
    return [sweep for sweep in found if sweep.keys]


def draw(results, out):
    if not shutil.which("gnuplot"):
        how = "apt-get install gnuplot-nox (./rungs does it)"
        print(f"gnuplot is missing, so its figures are left out: {how}", file=sys.stderr)
        return []
    pictures = []
    for sweep in sweeps(results):
        picture = pathlib.Path(out) / f"{sweep.name}.svg"
        write_whole(picture, sweep.draw(), folders=True)
        pictures.append((picture, f"{sweep.title()}: {sweep.case()}"))
    return pictures
