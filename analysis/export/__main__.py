"""rungs export: rows -> what other programs read. Exit codes: 0 written, 2 usage or unusable results, 3 nothing in them for this format, 4 no place to write."""

import pathlib
import sys

from analysis.arguments import Parser, one_of
from analysis.export import as_csv, as_github, as_google_benchmark, as_junit
from analysis.export.entries import Source
from analysis.foreign import terminal
from analysis.output import ends, run, write_whole

FORMATS = {
    "google-benchmark": as_google_benchmark,
    "csv": as_csv,
    "junit": as_junit,
    "github-action-benchmark": as_github,
}


@ends
def main(words=None):
    parser = Parser(prog="rungs export")
    parser.add_argument("format", type=one_of("format", FORMATS))
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="output file (default: stdout)")
    args = parser.parse_args(words)
    source = Source(args.results)
    text, count = FORMATS[args.format].write(source)
    if count == 0:
        return refuse("no row was timed, and this format holds only times", 3)
    if not args.out:
        sys.stdout.buffer.write(text.encode())
        return 0
    write_whole(args.out, text)
    print(
        "".join(f"{terminal(warning)}\n" for warning in source.latest.warnings)
        + f"{args.format}: {args.out}, {count} entries"
    )
    return 0


def refuse(error, code):
    print(terminal(error), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(run(main))
