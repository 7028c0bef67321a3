"""Results files -> figures and a report: python plots/report.py RESULTS... --out FILE [--figures FOLDER]

What lies between `<!-- rungs:begin NAME -->` and `<!-- rungs:end NAME -->` is replaced, everything else is kept; a missing file is
made from template.md. Exit codes: 0 written, 2 unusable results or markers, 3 no rows.
"""
import os
import pathlib
import sys
import tempfile

from arguments import Parser

HERE = pathlib.Path(__file__).resolve().parent


def default_results():
    return sorted((HERE.parent / "results").glob("*.jsonl"))


def write_whole(path, text):
    """Through a temporary file: a full disk leaves the old report."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".report")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def draw(results, args):
    """The figures, and why there are none."""
    if args.no_figures:
        return [], "Figures were not asked for."
    try:
        import figures
    except ModuleNotFoundError as error:
        print(f"no figures: the Python package {error.name} is missing (./rungs installs it)", file=sys.stderr)
        return [], f"No figures were drawn: the Python package {error.name} was missing."
    return figures.draw_all(results, args.figures), "No figure: nothing in these results was timed often enough to draw."


def contents(results, drawn, why_none, out):
    import report_checks as k
    import report_claims
    import report_ladder
    import report_machine as m
    import report_summary
    pictures = [(os.path.relpath(path, out.parent).replace(os.sep, "/"), text) for path, text in drawn]
    return {"summary": report_summary.summary(results), "machine": m.machine(results), "claims": report_claims.claims(results, pictures),
            "ladder": report_ladder.ladder(results, pictures, why_none), "accuracy": k.accuracy(results, pictures), "failed": k.failed(results),
            "skipped": k.skipped(results), "emulated": k.emulated(results), "startup": k.startup(results), "reproduce": m.reproduce(results)}


def main():
    parser = Parser(prog="rungs report")
    parser.add_argument("results", nargs="*", type=pathlib.Path, help="default: results/*.jsonl")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--figures", type=pathlib.Path, help="folder of the figures (default: figures beside the page)")
    parser.add_argument("--no-figures", action="store_true")
    args = parser.parse_args()
    args.figures = args.figures or args.out.parent / "figures"
    import rows
    from markdown import BadMarkers, fill, sections
    paths = args.results or default_results()
    if not paths:
        print("results/ holds no .jsonl file; run './rungs reproduce' first or name a file", file=sys.stderr)
        return 3
    try:
        results = rows.load(paths)
        text = (args.out if args.out.exists() else HERE / "template.md").read_text(encoding="utf-8")
        sections(text, args.out)
        pictures, why_none = draw(results, args)
        text, homeless = fill(text, contents(results, pictures, why_none, args.out.resolve()), args.out)
        write_whole(args.out, text)
    except rows.NoRows as error:
        print(error, file=sys.stderr)
        return 3
    except (rows.BadResults, BadMarkers, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    for note in results.warnings + [f"{args.out}: no markers for '{name}', so it is not in the report" for name in homeless]:
        print(note, file=sys.stderr)
    print(f"{args.out}: {len(results.rows)} rows, {len(pictures)} figures in {args.figures}" if pictures else f"{args.out}: {len(results.rows)} rows, no figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
