"""check.py PROGRAM TOPIC: the corpus of a topic reaches every function of its parser, and no mutation of it breaks a promise.

20,000 mutations from a fixed seed; 1,000,000 where RUNGS_TEST_FULL is set. A finding is left in the build folder and named."""

import os
import pathlib
import subprocess
import sys
import tempfile

import record

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]

# topic -> sources whose functions the corpus must reach, longest input
TOPICS = {
    "npy": (["base/npy.c"], 512),
    "case": (["plan/case.c", "base/params.c"], 512),
    "pattern": (["plan/choices.c"], 512),
    "scenario": (
        ["plan/scenario_read.c", "plan/axes.c", "plan/yamlfile.c", "plan/scenario_claims.c", "base/text.c"],
        4096,
    ),
    "rows": (["record/rowfile.c", "record/check.c"], 2048),
    "resume": (["pipeline/resume.c"], 1024),
    "claims": (["plan/claim_judge.c", "plan/claim_rows.c", "pipeline/claimfiles.c"], 4096),
    "replies": (["device/child.c"], 2048),
    "commands": (["worker/commands.c"], 1024),
    "options": (["cli/options.c"], 512),
}


def run(program, topic, *arguments, **environment):
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "FUZZ_TOPIC": topic, "ASAN_OPTIONS": "detect_leaks=0" if ptraced() else "", **environment},
    )
    if done.returncode != 0:
        sys.exit(f"BAD  {topic}: exit code {done.returncode}\n{done.stderr[-6000:]}")
    return done


def ptraced():
    """Under a debugger, or where ptrace is forbidden, LeakSanitizer cannot look at its own process."""
    try:
        return "TracerPid:\t0" not in pathlib.Path("/proc/self/status").read_text()
    except OSError:
        return False


def functions(program, sources):
    """{address: name} of the functions that these files define, from the program's symbols and line numbers."""
    found = {}
    for line in subprocess.run(
        ["nm", "-l", "--defined-only", program], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        symbol, tab, place = line.partition("\t")
        address, kind, name = symbol.split(" ", 2)
        path = pathlib.PurePath(place.rpartition(":")[0])
        if tab and kind in "tT" and path.as_posix().endswith(tuple(f"harness/{source}" for source in sources)):
            found[int(address, 16)] = name
    return found


def check_coverage(program, topic):
    sources, longest = TOPICS[topic]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "coverage"
        run(
            program,
            topic,
            "-runs=0",
            f"-max_len={longest}",
            "-close_fd_mask=1",
            f"-artifact_prefix={folder}/",
            HERE / "corpus" / topic,
            FUZZ_COVERAGE=str(report),
        )
        ran = {int(address, 16): ran == "1" for address, ran in map(str.split, report.read_text().splitlines())}
    known = {address: name for address, name in functions(program, sources).items() if address in ran}
    missed = sorted(name for address, name in known.items() if not ran[address])
    print(f"{topic}: the corpus reaches {len(known) - len(missed)} of {len(known)} functions of {', '.join(sources)}")
    if not known:
        sys.exit(f"BAD  {topic}: no function of these files is known; is the program stripped?")
    if missed:
        sys.exit(f"BAD  {topic}: tests/fuzz/corpus/{topic}/ does not reach {', '.join(missed)}: add a seed that does")
    long = [path.name for path in (HERE / "corpus" / topic).iterdir() if path.stat().st_size > longest]
    if long:
        sys.exit(f"BAD  {topic}: seeds longer than {longest} bytes are cut: {', '.join(long)}")


def mutate(program, topic):
    runs = 1_000_000 if os.environ.get("RUNGS_TEST_FULL") else 20_000
    findings = pathlib.Path(program).parent / "fuzz-findings"
    findings.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as grown:  # libFuzzer adds what it finds new to the first folder
        done = run(
            program,
            topic,
            f"-runs={runs}",
            "-seed=1",
            f"-max_len={TOPICS[topic][1]}",
            "-rss_limit_mb=1024",
            "-timeout=60",  # an endless loop; a busy machine stops a process for seconds
            "-close_fd_mask=1",
            f"-artifact_prefix={findings}/{topic}-",
            grown,
            HERE / "corpus" / topic,
        )
    print("\n".join(line for line in done.stderr.splitlines() if line.startswith("Done ")))
    return runs


def main(program, topic):
    record.begin(topic)
    check_coverage(program, topic)
    record.end(topic, mutate(program, topic))
    print(f"ok   {topic}")


if __name__ == "__main__":
    main(*sys.argv[1:])
