"""What tests/gpu/regression.sh found, as the table of docs/METHOD.md: suites in which nothing changed, and slow-downs of known size."""
import json
import pathlib
import random
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "compare"))
from compare import arguments_of, compare  # noqa: E402
from phrases import change, interval  # noqa: E402

SENSITIVE = "1%"


def runs_of(path):
    """The lines of each run, in the order in which they ran."""
    runs = {}
    for text in pathlib.Path(path).read_text().splitlines():
        runs.setdefault(json.loads(text)["run"], []).append(text)
    return list(runs.values())


def equal_suites(runs, repetitions, suites):
    """Consecutive processes, their sides drawn at random. Where there are too few for all suites, neighbouring suites share some."""
    size = 2 * repetitions
    stride = size if len(runs) >= size * suites else max(1, (len(runs) - size) // max(1, suites - 1))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(suites):
            part = runs[number * stride:number * stride + size]
            if len(part) < size:
                return
            random.Random(number).shuffle(part)
            paths = [pathlib.Path(folder) / name for name in ("base.jsonl", "new.jsonl")]
            for path, half in zip(paths, (part[:repetitions], part[repetitions:])):
                path.write_text("\n".join(text for run in half for text in run) + "\n")
            yield compare(arguments_of([*map(str, paths)]))[0]


def main():
    out, repetitions, suites = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    runs = runs_of(out / "aa.jsonl")
    judged = list(equal_suites(runs, repetitions, suites))
    alarms = sum(any(c.verdict in ("slower", "faster", "wrong", "missing") for c in suite) for suite in judged)
    told = [c for suite in judged for c in suite]
    shared = "none in two suites" if len(runs) >= 2 * repetitions * suites else "neighbouring suites share some"
    print(f"nothing changed: {len(judged)} suites of {len(judged[0]) if judged else 0} comparisons from {len(runs)} processes ({shared}): "
          f"{alarms} with a false alarm; {sum(c.verdict == 'same' for c in told)} of {len(told)} comparisons same, "
          f"{sum(c.verdict == 'ambiguous' for c in told)} ambiguous")
    if told:
        print(f"largest change seen: {change(max((c.ratio for c in told), key=lambda r: abs(r - 1)))}\n")
    print(f"| extra work | variant | mode | change | 95% interval | verdict | at --min-effect {SENSITIVE} |\n|---:|---|---|---:|---:|---|---|")
    lost = 0
    for percent in (3, 5, 10):
        files = [str(out / f"{percent}/{name}.jsonl") for name in ("base", "new")]
        usual, sensitive = (compare(arguments_of([*files, *words]))[0] for words in ([], ["--min-effect", SENSITIVE]))
        for c, other in zip(usual, sensitive):
            print(f"| {percent}% | `{c.spec}` | {c.mode} | {change(c.ratio)} | {interval(c)} | {c.verdict} | {other.verdict} |")
            lost += other.verdict != "slower" or (percent > 3 and c.verdict != "slower")
    print(f"\n{alarms} false alarms, {lost} slow-downs not found")
    return 1 if alarms or lost or len(judged) < suites else 0


if __name__ == "__main__":
    sys.exit(main())
