"""All figures from results files: python -m plots.figures RESULTS... [--out docs/figures]"""
import argparse
import pathlib
import sys

from analysis import rows, select
from analysis.output import run
from plots import (figures_accuracy, figures_ceiling, figures_claims, figures_curves, figures_errors, figures_gnuplot, figures_ladder, figures_offset, figures_sizes,
                   figures_timeline, figures_window)

ALL = (figures_claims, figures_errors, figures_ladder, figures_sizes, figures_curves, figures_timeline, figures_window, figures_ceiling, figures_accuracy, figures_offset, figures_gnuplot)


def draw_all(results, out):
    """[(path, what it shows)]"""
    return [picture for module in ALL for picture in module.draw(results, out)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "docs/figures")
    args = parser.parse_args()
    try:
        results = select.load(args.results)
    except rows.BadResults as error:
        print(error, file=sys.stderr)
        return 2
    for warning in results.warnings:
        print(warning, file=sys.stderr)
    pictures = draw_all(results, args.out)
    for path, text in pictures:
        print(f"{path}: {text}")
    if not pictures:
        print("no figure: nothing in these results was timed", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
