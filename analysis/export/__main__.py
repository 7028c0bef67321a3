"""rungs export: rows -> what other programs read. Exit codes: 0 written, 2 usage or unusable results, 3 nothing in them for this format, 4 no place to write."""
import os
import pathlib
import sys

from analysis.arguments import Parser, one_of
from analysis.export import as_bmf, as_csv, as_github, as_google_benchmark, as_junit, as_markdown
from analysis.export.entries import Source
from analysis.rows import BadResults, NoRows

FORMATS = {"google-benchmark": as_google_benchmark, "csv": as_csv, "junit": as_junit, "bmf": as_bmf, "github-action-benchmark": as_github,
           "markdown": as_markdown}


def main(words=None):
    parser = Parser(prog="rungs export")
    parser.add_argument("format", type=one_of("format", FORMATS))
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="output file (default: stdout)")
    args = parser.parse_args(words)
    try:
        source = Source(args.results)
        text, count = FORMATS[args.format].write(source)
    except NoRows as error:
        return told(error, 3)
    except BadResults as error:
        return told(error, 2)
    if count == 0:
        return told("no row was timed, and this format holds only times", 3)
    if not args.out:
        sys.stdout.buffer.write(text.encode())
        return 0
    try:
        write_whole(args.out, text)
    except OSError as error:
        return told(error, 4)
    print("".join(f"{warning}\n" for warning in source.warnings) + f"{args.format}: {args.out}, {count} entries")
    return 0


def told(error, code):
    print(error, file=sys.stderr)
    return code


def write_whole(path, text):
    """Under another name first: a full disk leaves the old file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8", newline="")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
