"""rungs plot: one sweep as text or as SVG. python -m plots.sweep FIGURE RESULTS... [--out FILE] [--columns N]

FIGURE may be empty: the names of the figures that the rows allow. Exit codes: 0 drawn, 2 unusable results or no such figure, 3 no sweep in the rows, 4 no gnuplot.
"""

import pathlib
import shutil
import sys

from analysis import select
from analysis.arguments import Parser
from analysis.foreign import terminal
from analysis.output import ends, run, write_whole
from plots import figures_sweep

WIDTH, HEIGHT, MOST = 100, 30, 160  # columns and lines where stdout is no terminal; columns at most


@ends
def main(words=None):
    parser = Parser(prog="rungs plot")
    parser.add_argument("figure")
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--columns", type=int, default=0)
    args = parser.parse_args(words)
    sweeps = {sweep.name.removeprefix("sweep_"): sweep for sweep in figures_sweep.sweeps(select.load(args.results))}
    if not sweeps:
        print("no sweep: no variant was timed at three values of a size or window", file=sys.stderr)
        return 3
    if not args.figure:
        print("\n".join(f"{name:32} {terminal(sweep.case())}" for name, sweep in sweeps.items()))
        return 0
    sweep = sweeps.get(args.figure.removeprefix("sweep_"))
    if not sweep:
        print(f"no figure '{terminal(args.figure)}' (known: {', '.join(sweeps)})", file=sys.stderr)
        return 2
    if not shutil.which("gnuplot"):
        print("gnuplot is missing: apt-get install gnuplot-nox (./rungs does it)", file=sys.stderr)
        return 4
    text = sweep.draw(
        dumb=not args.out, size=(min(args.columns or WIDTH, MOST), HEIGHT) if not args.out else (860, 470)
    )
    if args.out:
        write_whole(args.out, text)
        print(f"{args.out}: {terminal(sweep.title())}")
    else:
        print(terminal(text.lstrip("\f"), lines=True), end="")  # gnuplot begins with a form feed
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
