"""rungs merge: joins files of rows that were made apart (`run --shard`), checks that they belong together, and lists missing rows. Started by
harness/cli/merge.c. Rows must come from builds of one commit and with the same compilers and flags. What was timed must be the same machine code, timed
on one machine, or on machines of one kind (environment `id`). No two files may have the same row."""

import collections
import json
import sys

from analysis.arguments import Parser
from analysis.foreign import terminal
from analysis.lines import BadResults, read_numbered
from analysis.output import CHECK, ends, run, write_whole

NOTHING = 3
MACHINE_FACTS = (("gpu", "uuid"), ("cpu", "memory_bytes"), ("cpu", "threads"))  # that only one machine has

# A line, and where it is.
Line = collections.namedtuple("Line", "file path number text value")


def place(line):
    return f"{line.path}:{line.number}"


def row_key(row):
    """As in harness/pipeline/resume.c."""
    return row["backend"] == "emulator", row["case"], row["spec"]


def claim_key(claim):
    return claim.get("scenario"), claim["id"]


def require(line, good, message):
    if not good:
        raise BadResults(f"{place(line)}: {message}")


class Merge:
    def __init__(self, several_machines):
        self.several_machines = several_machines
        self.lines = []  # that are kept
        self.rows = self.repeated = 0  # repeated: emulated rows that a file before has too
        self.runs, self.keys, self.codes, self.claims = {}, {}, {}, {}  # lines by run, row_key, variant, claim_key
        self.build = self.timed = None  # the environment of the first run, the first row that was timed
        self.several = set()  # claims that several files judged, each from a part of the rows

    def add(self, line):
        kind = line.value["kind"]
        if kind == "environment":
            self.add_environment(line)
        if kind == "claim" and self.claims.setdefault(claim_key(line.value), line).file != line.file:
            self.several.add(claim_key(line.value))
        if kind != "row" or self.add_row(line):
            self.lines.append(line)

    def add_environment(self, line):
        run_id = line.value["run"]
        earlier = self.runs.get(run_id, line)
        message = f"the run {run_id} is in {place(earlier)}, too: the same rows twice; leave one of the files out"
        require(line, earlier.file == line.file, message)
        self.runs[run_id] = line
        self.build = self.build or line
        here, there = build_of(line.value), build_of(self.build.value)
        for key in here:
            own, other = ("none" if build.get(key) is None else json.dumps(build[key]) for build in (here, there))
            message = f"{key} is {own}, in {place(self.build)} it is {other}; rows of one file are of one build"
            require(line, own == other, message)

    def add_row(self, line):
        """False: it is not kept."""
        environment = self.runs.get(line.value["run"])
        message = f"a row of the run '{line.value['run']}', whose environment is not in this file above it"
        require(line, environment and environment.file == line.file, message)
        if line.value.get("timing"):
            self.add_timed(line, environment.value)
        keep = self.is_new(line)
        self.rows, self.repeated = self.rows + keep, self.repeated + (not keep)
        return keep

    def add_timed(self, line, here):
        self.timed = self.timed or line
        there = self.runs[self.timed.value["run"]].value
        message = (
            f"timed on {machine(here)}, but {machine(there)} on {place(self.timed)}: times of two kinds of machine"
        )
        require(line, here.get("id") == there.get("id"), f"{message} cannot be joined")
        same = all(
            (here.get(part) or {}).get(name) == (there.get(part) or {}).get(name) for part, name in MACHINE_FACTS
        )
        message = (
            f"timed on another {machine(here)} than {place(self.timed)}; to join their times, give --several-machines"
        )
        require(line, same or self.several_machines, message)
        earlier = self.codes.setdefault(line.value["variant"], line)
        message = f"{line.value['variant']} has other machine code than in {place(earlier)}: the programs differ"
        same = earlier.value.get("code") == line.value.get("code")
        require(line, same, f"{message} (-march=native on two machines?)")

    def is_new(self, line):
        """False for an emulated row that another file has with the same verdict: several sizes may shrink to one emulated case."""
        row = line.value
        earlier = self.keys.setdefault(row_key(row), line)
        if earlier.file == line.file:
            self.keys[row_key(row)] = line
            return True
        message, before = f"{row['spec']} on {row['case']}", earlier.value["verdict"]
        require(line, before == row["verdict"], f"{message}: {row['verdict']}; in {place(earlier)}: {before}")
        message = f"{message} is in {place(earlier)}, too: shards have no row in common; leave one of the files out"
        require(line, row["backend"] == "emulator", message)
        return False

    def kept(self):
        return [
            line for line in self.lines if line.value["kind"] != "claim" or claim_key(line.value) not in self.several
        ]


def build_of(environment):
    """What rows of one file have in common."""
    facts = {key: environment.get(key) for key in ("project", "commit", "dirty", "rungs")}
    return facts | {f"build.{key}": value for key, value in (environment.get("build") or {}).items()}


def machine(environment):
    gpu, cpu = environment.get("gpu"), (environment.get("cpu") or {}).get("model")
    if not gpu:
        return f"{cpu}, no GPU"
    cap = gpu.get("power_cap_watts") or 0
    return f"{gpu.get('name')} (driver {gpu.get('driver')}, {cap:.0f} W) beside {cpu}"


def missing(lines, expected):
    """Of the rows of harness/cli/merge.c those that are not there. One that was emulated stands for all that shrink to its case."""
    counts = collections.Counter(row_key(line.value) for line in lines if line.value["kind"] == "row")
    for row in expected:
        own = (False, row["case"], row["spec"])
        if counts[own]:
            counts[own] -= 1
        elif not (row["emulated"] and counts[True, row["emulated"], row["spec"]]):
            yield f"{row['spec']} on {row['case']}"


@ends
def main(words=None):
    parser = Parser(prog="rungs merge")
    parser.add_argument("--out")
    parser.add_argument("--expected", help="a file with rows that should be there, as JSON")
    parser.add_argument("--several-machines", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args(words)
    merge, out = Merge(arguments.several_machines), arguments.out
    for file, path in enumerate(arguments.files):
        cut_off = []
        for line in read_numbered(path, cut_off):
            merge.add(Line(file, path, *line))
        if cut_off:
            where = cut_off[0].removesuffix(" and left out")
            raise BadResults(f"{where}; 'rungs run --resume' with this --out removes it")
    lines, lacking = merge.kept(), []
    if arguments.expected:
        with open(arguments.expected) as rows:
            lacking = list(missing(lines, json.load(rows)))
    if out:
        write_whole(out, "".join(line.text if line.text.endswith("\n") else line.text + "\n" for line in lines))
    for row in lacking:
        print(f"missing: {terminal(row)}")
    print(f"{merge.rows} rows of {len(arguments.files)} files{f': {out}' if out else ' agree'}")
    if merge.repeated:
        print(f"{merge.repeated} emulated rows were in several files; one of each is kept")
    if merge.several:
        print(
            f"{len(merge.several)} claims were judged in several files, each from a part of the rows: left out; "
            f"'rungs judge {out or 'FILE'}' judges them"
        )
    if lacking:
        print(f"{len(lacking)} rows are missing")
    return CHECK if lacking else 0 if merge.rows else NOTHING


if __name__ == "__main__":
    sys.exit(run(main))
