"""What users and other programs hand over: scenarios that expand without end, rows that are not as described, names, and a machine without threads.

Refused at once, in words that say where, with exit code 2 (4 for the machine); nothing is written."""

import json

from faults import CASE, INJECT, RUNGS, SOURCE, Part, Sandbox, matches

SECONDS = 60  # of a busy machine; a second elsewhere
TIMED = next(
    line
    for line in (SOURCE / "tests/golden/rows.jsonl").read_text().splitlines()
    if '"cold"' in line and json.loads(line)["timing"]["cold"]["median"]
)
NUMBERS = ",".join(map(str, range(1, 2001)))
SUITE = "title: t\nsuites:\n - &s\n   op: double\n   axes: {{n: [{numbers}], seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}\n   variants: [{variants}]\n"
# what -> text of a scenario
BOMBS = {
    "19,000 aliases to a suite": SUITE.format(numbers=NUMBERS, variants="cpu_*") + " - *s\n" * 19000,
    "19,000 aliases to a pattern of 16 variants": "title: t\nsuites:\n - op: rolling\n   axes: {n: [1000]}\n   variants: [&v 'cpu_best threads="
    + ",".join(map(str, range(1, 17)))
    + "'"
    + ", *v" * 19000
    + "]\n",
    "10,000 aliases to a claim about 10,000 cases": f"title: t\nsuites:\n - op: double\n   axes: {{n: [{','.join(map(str, range(1, 10001)))}]}}\n   variants: [cpu_*]\n"
    "claims:\n - &c {id: x, case: n=1}\n" + " - *c\n" * 10000,
    "a product of axes": f"title: t\nsuites:\n - op: double\n   axes: {{n: [{NUMBERS}], seed: [{NUMBERS}]}}\n   variants: [cpu_*]\n",
}
# what -> (text, words to be said)
ROWS = {
    "a median of 0": (TIMED, '"median":', "0", "median is 0; expected"),
    "a median below 0": (TIMED, '"median":', "-1e-3", "median is -(1e-3|0.001); expected"),
    "a median that is NaN": (TIMED, '"median":', "NaN", "not JSON"),
    "a number that overflows": (TIMED, '"median":', "1e999", "(median is 1e999; expected|not JSON)"),
    "a text for a number": (TIMED, '"seed":', '"1"', 'seed is "1"; expected'),
    "half a character": (TIMED, '"case":', '"\\ud83d"', "not JSON"),
    "an op that names a folder": (TIMED, '"op":', '"../../x"', 'op is "../../x"; expected'),
    "a key twice": (TIMED, '"seed":', '1, "seed": 1', "not JSON"),
}
NAMES = {
    "a line break": "two\nlines",
    "a blank": "my kernels",
    "a letter of another script": "kernёls",
    "an option": "-x",
    "a target of the build": "all",
    "80 letters": "x" * 80,
}


def refused(done, wanted, words, sandbox):
    code, out, err = done
    if code != wanted:
        return f"exit code {code}: {(out + err)[-300:]}"
    if not matches(words, err + out):
        return f"does not say {words}: {(out + err)[-300:]}"
    return sandbox.left_behind()


def replaced(text, key, value):
    begin = text.index(key) + len(key)
    end = (
        begin + min(text[begin:].index(sign) for sign in (",", "}") if sign in text[begin:])
        if '"case"' not in key
        else text.index('", "', begin) + 1
    )
    return text[:begin] + value + text[end:]


def main():
    part = Part("inputs")
    for what, text in BOMBS.items():
        with Sandbox() as sandbox:
            path = sandbox.folder / "bomb.yaml"
            path.write_text(text)
            done = sandbox.call(RUNGS, "run", path, "--out", sandbox.folder / "out.jsonl", seconds=SECONDS)
            part.tell(
                "a scenario that expands without end",
                what,
                refused(done, 2, r"bomb\.yaml:\d+:\d+: .*(more than|too many)", sandbox),
            )
    for what, (text, key, value, words) in ROWS.items():
        for verb in ("report", "merge", "export", "run"):
            with Sandbox() as sandbox:
                path, out = sandbox.folder / "rows.jsonl", sandbox.folder / "out"
                path.write_text(replaced(text, key, value) + "\n")
                before = path.read_bytes()
                words_of = {
                    "report": (path, "--out", out),
                    "merge": (path, "--out", out),
                    "export": ("csv", path, "--out", out),
                    "run": (CASE, "--quick", "--out", path),
                }[verb]
                wrong = refused(
                    sandbox.call(RUNGS, verb, *words_of, seconds=SECONDS),
                    2,
                    r"rows\.jsonl:1:(\d+:)? .*" + words,
                    sandbox,
                )
                part.tell(
                    "a row that is not as described",
                    f"{verb}: {what}",
                    wrong or ("written to" if path.read_bytes() != before or out.exists() else ""),
                )
    for what, words in {
        "run": ("run", CASE, "--quick", "--out", "x.jsonl"),
        "exec": (
            "exec",
            "rolling/cpu_naive",
            "--in",
            f"x={SOURCE / 'examples/data/x.npy'}",
            "--set",
            "window=3",
            "--out",
            "y=y.npy",
        ),
        "benchmark": ("benchmark", CASE),
    }.items():
        with Sandbox() as sandbox:
            done = sandbox.call(
                RUNGS, *words, environment={"OMP_STACKSIZE": "9999G", "OMP_NUM_THREADS": "4"}, seconds=SECONDS
            )
            part.tell(
                "no threads to be had",
                what,
                refused(done, 4, r"no team of 4 threads can be started \(libgomp: Thread creation failed", sandbox),
            )
    with Sandbox() as sandbox:
        _, whole, _ = sandbox.call(RUNGS, "list", "ops", seconds=SECONDS)
        code, out, err = sandbox.call(
            RUNGS, "list", "ops", environment={"LD_PRELOAD": str(INJECT), "RUNGS_FAULT": "exit"}, seconds=SECONDS
        )
        part.tell(
            "a library that ends the program",
            "list ops",
            "" if whole and (code, out) == (4, whole) and "ended by a library" in err else f"{code}: {out} {err}",
        )
    for what, name in NAMES.items():
        for words in (("new", name), ("new", "good", "--op", name)):
            with Sandbox() as sandbox:
                code, out, err = sandbox.call(RUNGS, *words, seconds=SECONDS)
                taken = name == "all" and "--op" in words  # an op may have this name: it is no program
                part.tell(
                    "a name for a project",
                    f"{what}: {' '.join(words[:-1])}",
                    ""
                    if taken or code == 2 and "\n" not in (out + err).strip() and not sandbox.left_behind()
                    else f"{code}: {out + err}",
                )
    for shard in (
        "1/2147483648",
        "2147483649/2147483650",
        "1/2147483647",
        "0/1",
        "-1/2",
        "1/99999999999999999999",
        "1/",
        "x",
    ):
        with Sandbox() as sandbox:
            part.tell(
                "a wrong --shard",
                shard,
                refused(sandbox.call(RUNGS, "run", CASE, "--shard", shard, seconds=SECONDS), 2, r"--shard", sandbox),
            )
    part.end()


main()
