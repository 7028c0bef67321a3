"""All figures from results files: python plots/figures.py RESULTS... [--out docs/figures]"""
import argparse
import pathlib
import sys

import figures_accuracy
import figures_ceiling
import figures_claims
import figures_curves
import figures_enqueue
import figures_errors
import figures_gnuplot
import figures_growth
import figures_ladder
import figures_offset
import figures_shapes
import figures_sizes
import figures_timeline
import figures_window
import rows

ALL = (figures_claims, figures_errors, figures_enqueue, figures_ladder, figures_sizes, figures_shapes, figures_curves, figures_timeline, figures_window, figures_ceiling, figures_accuracy, figures_growth, figures_offset, figures_gnuplot)


def draw_all(results, out):
    """[(path of the PNG, what it shows)]; an SVG lies beside each."""
    return [picture for module in ALL for picture in module.draw(results, out)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "docs/figures")
    args = parser.parse_args()
    try:
        results = rows.load(args.results)
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
    sys.exit(main())
