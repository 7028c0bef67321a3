"""What the report says of the machine, the published claims, the figures, and how to do it again."""
import os
import shlex

import choose
import rows as r
from markdown import table
from words import many, percent, rate, seconds, significant, size

VERDICT_WORDS = {"reproduced": "**reproduced**", "not reproduced": "**not reproduced**", "not testable here": "not testable here"}


def runs_with_rows(results):
    """Environments in order of date, those with rows."""
    used = {row.get("run") for row in results.rows}
    known = sorted((e for run, e in results.environments.items() if run in used), key=lambda e: e.get("date") or "")
    return known, sorted((run for run in used if run not in results.environments), key=str)


def summary(results):
    rows = results.rows
    timed = [row for row in rows if r.median(row)]
    on_gpu = [row for row in timed if r.device_of(row) == "cuda"]
    emulated = [row for row in rows if r.is_emulated(row)]
    count = {v: sum(row["verdict"] == v for row in rows) for v in ("pass", "fail", "error", "skip")}
    lines = [f"{many(len(rows), 'row')}: {count['pass']} passed, {count['fail']} failed verification, {count['error']} ended in an error, {count['skip']} skipped. "
             f"{len(timed)} of them timed, each verified before and again, on new data, after timing."]
    if not on_gpu:
        lines.append("**No GPU was used: nothing here is a time of a CUDA kernel.** "
                     + (f"{sum(row['verdict'] == 'pass' for row in emulated)} of {many(len(emulated), 'row')} of CUDA kernels were verified in an emulator on the CPU; none is timed." if emulated else "No CUDA kernel ran."))
    elif emulated:
        lines.append(f"{many(len(emulated), 'row is', 'rows are')} of emulated kernels: verified, not timed.")
    return "\n\n".join(lines)


def yes_no(value):
    return {True: "on", False: "off"}.get(value, "unknown")


def known(value, text=str):
    return "unknown" if value is None else text(value)


def card(results, e):
    gpu, cpu, build, python = (e.get(k) or {} for k in ("gpu", "cpu", "build", "python"))
    lines = []
    if gpu:
        lines += [("GPU", f"{known(gpu.get('name'))}, compute capability {known(gpu.get('compute_capability'))}, {known(gpu.get('sm_count'))} SMs, "
                          f"{known(gpu.get('memory_bytes'), size)} memory, {known(gpu.get('l2_bytes'), size)} L2, {known(gpu.get('shared_bytes_per_block'), size)} shared memory per block"),
                  ("driver, runtime", f"{known(gpu.get('driver'))}, CUDA {known(gpu.get('runtime'))}"),
                  ("clocks, power", f"SM up to {known(gpu.get('clocks_sm_max'))} MHz, memory up to {known(gpu.get('clocks_memory_max'))} MHz, cap {known(gpu.get('power_cap_watts'), significant)} W, "
                                    f"ECC {yes_no(gpu.get('ecc'))}, MIG {yes_no(gpu.get('mig'))}")]
    else:
        lines.append(("GPU", f"none: {e.get('gpu_reason') or 'reason unknown'}"))
    lines += [("CPU", f"{known(cpu.get('model'))}, {known(cpu.get('cores'))} cores, {known(cpu.get('threads'))} threads, {known(cpu.get('llc_bytes'), size)} last-level cache, "
                      f"{known(cpu.get('memory_bytes'), size)} memory"),
              ("system", known(e.get("os")) + (f", in a container ({e['container']})" if e.get("container") else "")),
              ("build", f"{known(build.get('type'))}: {known(build.get('compiler'))}, `{known(build.get('flags'))}`")]
    if build.get("cuda_compiler"):
        lines.append(("CUDA build", f"{build['cuda_compiler']}, `{known(build.get('cuda_flags'))}`, architecture {known(build.get('cuda_architectures'))}"))
    if python:
        packages = ", ".join(f"{k} {v}" for k, v in sorted((python.get("packages") or {}).items()))
        lines.append(("Python", f"{known(python.get('version'))}" + (f"; {packages}" if packages else "")))
    if e.get("variables"):
        lines.append(("variables", ", ".join(f"`{k}={v}`" for k, v in sorted(e["variables"].items()))))
    dirty = {True: ", with uncommitted changes", False: "", None: ", cleanliness unknown"}[e.get("dirty")]
    lines.append(("date, commit", f"{known(e.get('date'))}, {known(e.get('commit'))}{dirty}"))
    return table(["", r.machine_name(e)], lines)


def ceilings(results, run):
    lines = []
    for device, found in sorted(results.ceilings.get(run, {}).items(), reverse=True):
        for name, c in found.items():
            form = {"B/s": rate, "s": seconds}.get(c.get("unit"), lambda v: f"{significant(v / 1e12)} Tflop/s")
            between = f"{form(c['low'])} to {form(c['high'])}" if c.get("low") and c.get("high") else "-"
            lines.append((device, name.replace("_", " "), form(c["value"]), between, known(c.get("method"))))
    if not lines:
        return "No ceilings were measured in this run, so fractions of them are unknown."
    return "Measured in the same run; everything below is held against them.\n\n" + table(["device", "ceiling", ">value", ">quartiles", "how"], lines)


def machine(results):
    known_runs, unknown_runs = runs_with_rows(results)
    latest = {r.machine_name(e): e for e in known_runs}
    parts = [part for e in latest.values() for part in (card(results, e), ceilings(results, e.get("run")))]
    older = [e for e in known_runs if latest[r.machine_name(e)] is not e]
    if older:
        rows = [(e.get("run"), r.machine_name(e), known(e.get("date")), known(e.get("commit"))[:7]) for e in older]
        parts.append("Rows of these earlier runs are also in the tables, where nothing newer replaces them:\n\n" + table(["run", "machine", "date", "commit"], rows))
    if unknown_runs:
        parts.append(f"The environment of {many(len(unknown_runs), 'run')} is missing from the files: {', '.join(map(str, unknown_runs))}.")
    return "\n\n".join(parts)


def quantity(claim, value):
    if value is None:
        return "-"
    if claim.get("quantity") == "seconds":
        return seconds(value)
    return percent(value) if claim.get("quantity") == "ratio_to_copy" else f"{significant(value)}x"


def claims(results):
    if not results.claims:
        return "No published claim was judged in these runs: `./rungs reproduce` judges them."
    rows, notes = [], []
    for c in results.claims:
        interval = c.get("ours_interval")
        between = f" ({quantity(c, interval[0])} to {quantity(c, interval[1])})" if interval and None not in interval else ""
        rows.append((c.get("statement"), f"{quantity(c, c.get('value'))} on {c.get('hardware') or 'unknown hardware'}", quantity(c, c.get("ours")) + between,
                     r.machine_of(results, c) if c.get("ours") is not None else "-", VERDICT_WORDS.get(c.get("verdict"), str(c.get("verdict")))))
        facts = [("case", f"`{c['case']}`" if c.get("case") else None), ("ours", f"`{c.get('variant')}`" + (f" against `{c['baseline']}`" if c.get("baseline") else "") + f", {c.get('mode')}"),
                 ("source", c.get("source")), ("measured there by", c.get("method")), ("rule", c.get("rule")), ("note", c.get("note")), ("reason", c.get("reason"))]
        notes.append(f"- **{c.get('statement')}** (`{c.get('id')}`)\n" + "\n".join(f"  - {name}: {value}" for name, value in facts if value))
    return table(["claim", ">published", ">ours (95% interval)", "measured on", "verdict"], rows) + "\n\n" + "\n".join(notes)


def figures(pictures, why_none, out):
    if not pictures:
        return why_none
    return "\n\n".join(f"![{text}]({os.path.relpath(path, out.parent).replace(os.sep, '/')})" for path, text in pictures)


def reproduce(results):
    known_runs, _ = runs_with_rows(results)
    latest = {r.machine_name(e): e for e in known_runs}
    parts = []
    for name, e in latest.items():
        commit = f"git checkout {e['commit']}\n" if e.get("commit") else ""
        words = e.get("argv") or ["reproduce"]
        if words[0].rsplit("/", 1)[-1].startswith("rungs"):  # the program itself
            words = words[1:]
        command = " ".join(["./rungs", *map(shlex.quote, words)])
        parts.append(f"On {name}:\n\n```\n{commit}{command}\n./rungs report\n```")
    timed = choose.timed_rows(results)
    if timed:
        row = max(timed, key=lambda row: (r.device_of(row) == "cuda", r.median(row)))
        parts.append("One row by itself, such as the longest one here (its case and variant are in the tables):\n\n"
                     f"```\n./rungs run {shlex.quote(row['case'])} --variants {shlex.quote(row['variant'])}\n```")
    return "\n\n".join(parts) or "`./rungs reproduce`"
