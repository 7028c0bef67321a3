"""All figures from results files: python -m plots.figures RESULTS... [--out docs/figures]"""
import argparse
import pathlib
import re
import sys

from analysis import select
from analysis.output import ends, run
from plots import figures_claims, figures_inputs, figures_ladder, figures_offset, figures_sweep

ALL = (figures_claims, figures_ladder, figures_sweep, figures_inputs, figures_offset)


KINDS = re.compile(r"(claims|(ladder|sweep|inputs|offset)_.+)\.svg")  # files that this module draws


def draw_all(results, out):
    """[(path, what it shows)]. Figures of these kinds that an earlier report drew there, and this one does not, are removed."""
    pictures = [picture for module in ALL for picture in module.draw(results, out)]
    drawn = {path.resolve() for path, _ in pictures}
    for path in pathlib.Path(out).glob("*.svg"):
        if KINDS.fullmatch(path.name) and path.resolve() not in drawn:
            path.unlink()
    return pictures


@ends
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "docs/figures")
    args = parser.parse_args()
    results = select.load(args.results)
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
