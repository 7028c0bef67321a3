"""Results files -> a report: python -m analysis.report RESULTS... --out FILE [--figures FOLDER] [--details FOLDER] [--html FILE]

FILE is the report on a few pages, FOLDER/<op>.md the details of each op, the HTML file all rows to filter and sort. A file that something else wrote is not overwritten.
Exit codes: 0 written, 2 unusable results or a page that is not ours, 3 no rows, 4 no place to write.
"""

import os
import pathlib
import sys

from analysis.arguments import Parser
from analysis.foreign import markdown, terminal
from analysis.output import MACHINE, End, ends, remove, run, write_whole

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
    return figures.draw_all(
        results, args.figures
    ), "No figure: nothing in these results was timed often enough to draw."


def link(target, page):
    return os.path.relpath(os.path.realpath(target), os.path.dirname(os.path.realpath(page))).replace(os.sep, "/")


def write_pages(results, drawn, why_none, args):
    """REPORT.md and a page for each op beside it; returns how many."""
    from analysis.report import page

    ops = page.ops_of(results)
    pages = {op: args.details / f"{op}.md" for op in ops}

    def links(source):
        documents = {"method": ROOT / "docs/METHOD.md", "statistics": ROOT / "docs/COMPARISON.md"}
        fixed = {**documents, "results": ROOT / "results", "report": args.out, **pages}
        return {name: link(target, source) for name, target in fixed.items()}

    def pictures(source):
        return [(link(path, source), markdown(text)) for path, text in drawn]

    texts = {args.out: page.page(results, pictures(args.out), links(args.out), why_none)}
    for op, path in pages.items():
        texts[path] = page.op_page(results, op, pictures(path), links(path), why_none)
    for path in sorted(set(args.details.glob("*.md")) - set(texts)):  # of an op that has no rows any more
        remove(path, page.FIRST_LINE)
    for path, text in texts.items():
        write_whole(path, text, folders=True, begins=page.FIRST_LINE)
    return len(texts)


def write_html(results, paths, args):
    try:
        from analysis.report import html

        html.write(results, paths, args.html, args.repository)
    except ModuleNotFoundError as error:
        missing = End(f"--html: the Python package {error.name} is missing (./rungs installs it)", MACHINE)
        if not args.html_optional:
            raise missing from error
        print(missing, file=sys.stderr)


@ends
def main(words=None):
    parser = Parser(prog="rungs report")
    parser.add_argument("results", nargs="*", type=pathlib.Path, help="default: results/*.jsonl")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--figures", type=pathlib.Path, help="folder of the figures (default: figures beside the page)")
    parser.add_argument(
        "--details", type=pathlib.Path, help="folder of the pages of the ops (default: results beside the page)"
    )
    parser.add_argument("--html", type=pathlib.Path, help="also write the interactive page to this file")
    parser.add_argument("--repository", type=pathlib.Path, default=ROOT, help="of the commits of that page's history")
    parser.add_argument(
        "--html-optional", action="store_true", help="go on without that page where its library is missing"
    )
    parser.add_argument("--numbers", action="store_true", help="also refresh the numbers in README.md and docs/")
    parser.add_argument("--no-figures", action="store_true")
    args = parser.parse_args(words)
    args.figures = args.figures or args.out.parent / "figures"
    args.details = args.details or args.out.parent / "results"
    from analysis import select
    from analysis.report import numbers

    paths = args.results or default_results()
    if not paths:
        print("results/ holds no .jsonl file; run './rungs reproduce' first or name a file", file=sys.stderr)
        return 3
    results = select.load(paths)
    pictures, why_none = draw(results, args)
    pages = write_pages(results.in_markdown(), pictures, why_none, args)
    if args.html:
        write_html(results, paths, args)
    if args.numbers:
        numbers.refresh(results, ROOT)
    for note in results.warnings:
        print(terminal(note), file=sys.stderr)
    print(
        f"{args.out}: {len(results.rows)} rows, {pages} pages, {len(pictures)} figures in {args.figures}"
        if pictures
        else f"{args.out}: {len(results.rows)} rows, {pages} pages, no figures"
    )
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
