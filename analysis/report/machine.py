"""Sections of the report on the machine, its measured peaks, and how to reproduce the rows."""

import collections
import shlex

from analysis import rows as r
from analysis import select
from analysis.format import details, ends, many, rate, seconds, significant, size, table

MOST_RUNS = 6
SHORT = ("copy", "read", "write", "empty_launch")  # the peaks that a report names
MOST_LINES = 20  # of the commands


def runs_with_rows(results):
    """Environments in order of date, those with rows."""
    used = {row.get("run") for row in results.rows}
    known = sorted((e for run, e in results.environments.items() if run in used), key=lambda e: e.get("date") or "")
    return known, sorted((run for run in used if run not in results.environments), key=str)


def known(value, text=str):
    return "unknown" if value is None else text(value)


def as_texts(facts):
    """Each as people read it; what is not known is unknown."""
    words = collections.defaultdict(lambda: "unknown")
    for key, value in (facts or {}).items():
        if value is not None:
            text = size if "bytes" in key else significant if key == "power_cap_watts" else str
            words[key] = ("on" if value else "off") if isinstance(value, bool) else text(value)
    return words


GPU = {
    "GPU": "{name}, compute capability {compute_capability}, {sm_count} SMs, {memory_bytes} memory, {l2_bytes} L2, {shared_bytes_per_block} shared memory per block",
    "driver, runtime": "{driver}, CUDA {runtime}",
    "clocks, power": "SM up to {clocks_sm_max} MHz, memory up to {clocks_memory_max} MHz, cap {power_cap_watts} W, ECC {ecc}, MIG {mig}",
}
CPU = "{model}, {cores} cores, {threads} threads, {llc_bytes} last-level cache, {memory_bytes} memory"


def card(e):
    gpu, build, python = (e.get(k) or {} for k in ("gpu", "build", "python"))
    lines = [(name, text.format_map(as_texts(gpu))) for name, text in GPU.items()]
    if not gpu:
        lines = [("GPU", f"none: {e.get('gpu_reason') or 'reason unknown'}")]
    lines.append(("CPU", CPU.format_map(as_texts(e.get("cpu")))))
    lines.append(
        ("system", known(e.get("os")) + (f", in a container ({e['container']})" if e.get("container") else ""))
    )
    dirty = {True: ", with uncommitted changes", False: "", None: ", uncommitted changes unknown"}[e.get("dirty")]
    lines.append(("date, commit", f"{known(e.get('date'))}, {known(e.get('commit'))}{dirty}"))
    built = [("build", "{type}: {compiler}, `{flags}`".format_map(as_texts(build)))]
    if build.get("cuda_compiler"):
        text = "{cuda_compiler}, `{cuda_flags}`, architecture {cuda_architectures}"
        built.append(("CUDA build", text.format_map(as_texts(build))))
    if python:
        packages = ", ".join(f"{k} {v}" for k, v in sorted((python.get("packages") or {}).items()))
        built.append(("Python", f"{known(python.get('version'))}" + (f"; {packages}" if packages else "")))
    if e.get("variables"):
        built.append(("variables", ", ".join(f"`{k}={v}`" for k, v in sorted(e["variables"].items()))))
    rest = details("compilers, flags, packages, variables", table(["", ""], built))
    return table(["", r.machine_name(e)], lines), rest


def unit(c):
    return {"B/s": rate, "s": seconds}.get(c.get("unit"), lambda v: f"{significant(v / 1e12)} Tflop/s")


def ceilings(results, run, full):
    by_device = dict(sorted(results.ceilings.get(run, {}).items(), reverse=True))
    if not by_device:
        return "No peaks were measured in this run, so shares of the limit are unknown."
    names = list(dict.fromkeys(name for found in by_device.values() for name in found if full or name in SHORT))
    peaks = [[found.get(name) for found in by_device.values()] for name in names]
    short = [
        [name.replace("_", " "), *(unit(c)(c["value"]) if c else "-" for c in some)] for name, some in zip(names, peaks)
    ]
    long = []
    for device, name, c in ((device, name, c) for device, found in by_device.items() for name, c in found.items()):
        quartiles = f"{unit(c)(c['low'])} to {unit(c)(c['high'])}" if c.get("low") and c.get("high") else "-"
        long.append((device, name.replace("_", " "), quartiles, known(c.get("method"))))
    header = ["peak", *(f">{ {'cuda': 'GPU', 'cpu': 'CPU'}.get(d, d) }" for d in by_device)]
    parts = [
        "Peaks of the same run (*empty launch*: in every cold sample).",
        table(header, short),
    ]
    if full:
        text = table(["device", "peak", ">quartiles", "how"], long)
        parts.append(details("quartiles and methods of the measured peaks", text))
    return "\n\n".join(parts)


def runs_text(results, runs):
    """A short table, or how many there are: then the rows are no campaign of one commit."""
    commits = list(dict.fromkeys(commit_of(e) for e in runs))
    if len(runs) > MOST_RUNS:
        names = ", ".join(f"`{c}`" for c in commits[:MOST_RUNS]) + ", ..." * (len(commits) > MOST_RUNS)
        return (
            f"The rows come from {len(runs)} runs of {many(len(commits), 'commit')} ({names}); above: the latest of those that measured most peaks. "
            "Each row names its run, and is compared with the peaks of its own run."
        )
    lines = [
        (
            e.get("run"),
            " ".join(command_of(e)) or "-",
            r.machine_name(e),
            commit_of(e),
            sum(row.get("run") == e.get("run") for row in results.rows),
        )
        for e in runs
    ]
    return (
        "The rows come from several runs; above: the latest of those that measured most peaks. Each row is compared with the peaks of its own run.\n\n"
        + table(["run", "command", "machine", "commit", ">rows"], lines)
    )


def commit_of(e):
    return known(e.get("commit"))[:7] + (" + changes" if e.get("dirty") else "")


def machine(results, full=False):
    """The card, the peaks; full: also how they were measured, compilers, packages and variables."""
    known_runs, unknown_runs = runs_with_rows(results)
    by_ceilings = sorted(
        known_runs, key=lambda e: len(results.ceilings.get(e.get("run")) or ())
    )  # by devices; of runs alike the order stays
    latest = {r.machine_name(e): e for e in by_ceilings}
    parts = []
    for e in latest.values():
        first, rest = card(e)
        parts += [first, ceilings(results, e.get("run"), full), *([rest] if full else [])]
    if len(known_runs) > len(latest) and (full or len(known_runs) <= MOST_RUNS):
        parts.append(runs_text(results, known_runs))
    if unknown_runs:
        parts.append(
            f"The environment of {many(len(unknown_runs), 'run')} is missing from the files: {', '.join(map(str, unknown_runs))}."
        )
    return "\n\n".join(parts)


def command_of(e):
    words = e.get("argv") or ["reproduce"]
    return words[1:] if words[0].rsplit("/", 1)[-1].startswith("rungs") else words  # without the program itself


def command_again(e):
    """What a run was asked for, in three parts: the verb, the names of scenarios and cases, and the options that say what is measured."""
    left = r.asked_of(command_of(e))
    options = next((i for i, word in enumerate(left) if word.startswith("--")), len(left))
    return tuple(left[:1]), left[1:options], tuple(left[options:])


def commands(runs):
    """The commands of these runs, those with the same options as one. Single cases are counted."""
    scenarios, cases = {}, {}
    for e in runs:
        verb, names, options = command_again(e)
        wanted = [name for name in names if "=" not in name]
        cases.update(dict.fromkeys(name for name in names if "=" in name))
        if wanted or not names:
            scenarios.setdefault((verb, options), {}).update(dict.fromkeys(wanted))
    lines = [shlex.join(["./rungs", *verb, *names, *options]) for (verb, options), names in scenarios.items()]
    return lines + ([f"# {many(len(cases), 'single case')}"] if cases else [])


def reproduce(results):
    """The commands that made the rows, by commit."""
    known_runs, _ = runs_with_rows(results)
    lines = []
    for commit, runs in r.grouped(known_runs, lambda e: e.get("commit")).items():
        lines += [*([f"git checkout {commit}"] if commit else []), *commands(runs)]
    return "```sh\n" + "\n".join(lines if 0 < len(lines) <= MOST_LINES else ["./rungs reproduce --full"]) + "\n```"


def status(results):
    """Version, date, machines and commits of the rows."""
    runs, _ = runs_with_rows(results)
    version, dates = (
        (runs[-1].get("rungs") if runs else None),
        [(e.get("date") or "")[:10] for e in runs if e.get("date")],
    )
    commits = ", ".join(f"`{name}`" for name in dict.fromkeys(map(commit_of, runs)))
    days = ends(dates) if dates else "unknown"
    names = ", ".join(select.machines(results)) or "no machine that was timed"
    return f"rungs {known(version)}, rows of {days}, {names}; commit {commits or 'unknown'}."


def cite(results):
    """The release that the rows name."""
    version = next((e.get("rungs") for e in reversed(runs_with_rows(results)[0])), None)
    return f"Cite as: The rungs authors, *rungs: a benchmark and verification harness for CPU and CUDA kernels*, version {known(version)} (CITATION.cff)."
