"""Results files -> figures and a report: python -m analysis.report RESULTS... --out FILE [--figures FOLDER]

What lies between `<!-- rungs:begin NAME -->` and `<!-- rungs:end NAME -->` is replaced, everything else is kept; a missing file is
made from template.md. Exit codes: 0 written, 2 unusable results or markers, 3 no rows, 4 no place to write.
"""
import os
import pathlib
import sys

from analysis.arguments import Parser
from analysis.output import CannotWrite, run, spare, write_whole

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def default_results():
    return sorted((ROOT / "results").glob("*.jsonl"))


def draw(results, args):
    """The figures, and why there are none."""
    if args.no_figures:
        return [], "Figures were not asked for."
    try:
        from plots import figures
    except ModuleNotFoundError as error:
        print(f"no figures: the Python package {error.name} is missing (./rungs installs it)", file=sys.stderr)
        return [], f"No figures were drawn: the Python package {error.name} was missing."
    return figures.draw_all(results, args.figures), "No figure: nothing in these results was timed often enough to draw."


def contents(results, drawn, why_none, out):
    from analysis.report import checks, claims, ladder, machine, summary
    pictures = [(os.path.relpath(path, out.parent).replace(os.sep, "/"), text) for path, text in drawn]
    return {"summary": summary.summary(results), "machine": machine.machine(results), "claims": claims.claims(results, pictures),
            "ladder": ladder.ladder(results, pictures, why_none), "accuracy": checks.accuracy(results, pictures), "failed": checks.failed(results),
            "skipped": checks.skipped(results), "emulated": checks.emulated(results), "startup": checks.startup(results), "reproduce": machine.reproduce(results)}


def main(words=None):
    parser = Parser(prog="rungs report")
    parser.add_argument("results", nargs="*", type=pathlib.Path, help="default: results/*.jsonl")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--figures", type=pathlib.Path, help="folder of the figures (default: figures beside the page)")
    parser.add_argument("--no-figures", action="store_true")
    args = parser.parse_args(words)
    args.figures = args.figures or args.out.parent / "figures"
    from analysis import rows, select
    from analysis.report.markers import BadMarkers, fill, sections
    paths = args.results or default_results()
    if not paths:
        print("results/ holds no .jsonl file; run './rungs reproduce' first or name a file", file=sys.stderr)
        return 3
    try:
        spare(args.out, paths)
        results = select.load(paths)
        text = (args.out if args.out.exists() else HERE / "template.md").read_text(encoding="utf-8")
        sections(text, args.out)
        pictures, why_none = draw(results, args)
        text, homeless = fill(text, contents(results, pictures, why_none, args.out.resolve()), args.out)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(args.out, text, paths)
    except rows.NoRows as error:
        print(error, file=sys.stderr)
        return 3
    except (rows.BadResults, BadMarkers, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except CannotWrite as error:
        print(error, file=sys.stderr)
        return error.code
    for note in results.warnings + [f"{args.out}: no markers for '{name}', so it is not in the report" for name in homeless]:
        print(note, file=sys.stderr)
    print(f"{args.out}: {len(results.rows)} rows, {len(pictures)} figures in {args.figures}" if pictures else f"{args.out}: {len(results.rows)} rows, no figures")
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
