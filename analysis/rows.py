"""Facts of one row of a results file, and of several rows together. Standard library only."""

import collections
import math
import re

from analysis import joined
from analysis.foreign import every, markdown

ONE_INPUT = "timed on one input"
UNKNOWN_MACHINE = "unknown machine"
LOCKED_APART = 0.1  # logarithm: clocks that differ by more, and by far more than they vary, were set differently


def grouped(items, key):
    """key -> the items that have it, in their order."""
    found = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


class Results:
    """The latest row for each machine, case and variant with its tunables (select.load), with speed-ups and shares of the limit. Ratios are made within one campaign: one build
    on one card."""

    def __init__(self, environments, ceilings, rows, claims, warnings, campaigns=None):
        self.environments = environments  # run -> environment
        self.ceilings = ceilings  # run -> device -> name -> ceiling
        self.rows = rows
        self.claims = claims
        self.warnings = warnings
        # campaign -> its latest rows, the oldest campaign first
        self.campaigns = grouped(rows, self.campaign) if campaigns is None else campaigns
        self.times = {}  # (campaign, case, spec, mode) -> statistics, for speed-ups
        self.held = collections.Counter(row["spec"] for row in rows)
        for campaign, some in self.campaigns.items():
            for row in some:
                for mode, timed in (row.get("timing") or {}).items():
                    if timed and timed.get("median"):
                        self.times[campaign, row["case"], row["spec"], mode] = timed

        # wrong definitions that any case of a variant in a campaign tells, on whichever of a run's GPUs
        self.rejected = collections.defaultdict(set)
        for campaign, some in self.campaigns.items():
            for row in (row for row in some if row["verdict"] == "pass"):
                self.rejected[campaign[:2], definition_of(row)].update(row.get("tells") or ())

    def is_defined(self, row):
        """False: under its own, looser bound the row does not tell a wrong definition, and no other case of the variant does."""
        return not is_declared(row) or set(not_told(row)) <= self.rejected[self.campaign(row)[:2], definition_of(row)]

    def why_not_ranked(self, row):
        """Why a row that passed stands in no ranking; "": it may."""
        marks = [ONE_INPUT] * is_on_one_input(row) + ["definition not verified"] * (not self.is_defined(row))
        return ", ".join(marks)

    def in_markdown(self):
        """The same results with each of their texts as it may stand in a page."""
        parts = self.environments, self.ceilings, self.rows, self.claims, self.warnings, self.campaigns
        return Results(*(every(part, markdown) for part in parts))

    def environment(self, row):
        return self.environments.get(row.get("run")) or {}

    def machine(self, row):
        return machine_name(self.environment(row)) if row.get("run") in self.environments else UNKNOWN_MACHINE

    def campaign(self, row):
        return campaign_of(self.environments, row)

    def baseline_spec(self, row):
        """The spec of the row's baseline: the id as it is, else of those with tunables of that id in the same case the one that most rows
        have: the default."""
        baseline, machine = row.get("baseline"), self.machine(row)
        specs = {
            other["spec"]
            for other in self.rows
            if baseline and other["case"] == row["case"] and names(baseline, other) and self.machine(other) == machine
        }
        return min(specs, key=lambda spec: (-self.held[spec], spec), default=None)

    def time_of(self, row, spec, mode="cold"):
        """What another variant took in the same campaign and case, with statistics; None if it was not timed there."""
        return self.times.get((self.campaign(row), row["case"], spec, mode))

    def speedup(self, row, mode="cold", over=None):
        """Time of the row's baseline, or of the spec `over`, over ours in the same campaign and case."""
        base, seconds = self.time_of(row, over or self.baseline_spec(row), mode), median(row, mode)
        return base["median"] / seconds if base and seconds else None


WHOLE = re.compile(r"(?<==)\d(?:\.\d+)?e\+0\d(?= )")  # 3e+02, in texts of cases of older rows


def with_defaults(row):
    """Fills in what readers take for granted where it is null or missing; they check everything else themselves."""
    row["params"] = row.get("params") or {}
    row["case"] = WHOLE.sub(lambda number: f"{float(number.group()):.0f}", row.get("case") or "")
    joined.row(row)
    row["dtype"] = row.get("dtype") or "unknown dtype"
    row["input"] = row.get("input") or "unknown input"
    if row.get("errors"):
        row["errors"] = {name: e for name, e in row["errors"].items() if e}
    return row


# Options that do not decide which rows a run makes, and how many words they are.
WHERE_AND_HOW_LONG = {"--out": 2, "--budget": 2, "--resume": 1, "--verbose": 1}


def asked_of(words):
    """Of a command line without the program what decides which rows it makes."""
    left = []
    while words:
        taken = WHERE_AND_HOW_LONG.get(words[0], 0)
        left += [] if taken else words[:1]
        words = words[taken or 1 :]
    return left


def campaign_of(environments, row):
    """Where times may be compared: one build (the environment's id) on one card (`card`: set_cards()); of a run without an id, the run alone."""
    environment = environments.get(row.get("run")) or {}
    known = environment.get("id")
    return (known, (environment.get("gpu") or {}).get("uuid"), row.get("card")) if known else (row.get("run"), None)


def set_cards(environments, rows):
    """Where runs of one build made a case on several GPUs (`--devices`), their rows are of as many campaigns. What ran on none goes with the last."""
    for some in grouped(rows, lambda row: (campaign_of(environments, row), row.get("case"))).values():
        cards = [(row.get("gpu") or {}).get("uuid") for row in some]
        known = list(filter(None, cards))
        if len(set(known)) > 1:
            for row, card in zip(some, cards, strict=True):
                row["card"] = card or known[-1]


def machine_name(environment):
    gpu, cpu = environment.get("gpu") or {}, environment.get("cpu") or {}
    return gpu.get("name") or f"{cpu.get('model') or 'unknown CPU'}, no GPU"


def kind_of_machine(environment, row):
    """What decides whether two times may be compared; never a host's name. A value of None: unknown."""
    if not environment:
        return None
    cpu, gpu = environment.get("cpu") or {}, environment.get("gpu")
    if device_of(row) == "cpu":
        return {"device": cpu.get("model"), "threads": cpu.get("threads")}
    if not gpu:
        return None
    driver = str(gpu.get("driver") or "").split(".")[0] or None
    return {
        "device": gpu.get("name"),
        "driver_major": driver,
        **{key: gpu.get(key) for key in ("power_cap_watts", "mig", "sm_count", "clocks_sm_max", "clocks_memory_max")},
    }


def name_of(row_or_id):
    """cuda_shared from rolling/cuda_shared."""
    text = row_or_id if isinstance(row_or_id, str) else row_or_id["variant"]
    return text.split("/", 1)[-1]


def op_of(claim):
    return str(claim.get("op") or claim.get("case")).split(" ")[0]


def names(text, row):
    """Is the row of this variant, with these of its tunables?"""
    variant, *tunables = text.split(" ")
    return variant == row["variant"] and set(tunables) <= set(row["spec"].split(" ")[1:])


def timing(row, mode):
    """The mode's statistics if it has any, else None."""
    timed = (row.get("timing") or {}).get(mode)
    return timed if timed and timed.get("median") else None


def modes_of(rows):
    """The modes that these rows were timed in, in the order in which the program writes them."""
    found = []
    for timed in sorted({tuple(row.get("timing") or ()) for row in rows}, key=lambda modes: (-len(modes), modes)):
        for k, mode in enumerate(timed):
            if mode not in found:
                after = next((found.index(later) for later in timed[k + 1 :] if later in found), len(found))
                found.insert(after, mode)
    return found


def median(row, mode="cold"):
    timed = timing(row, mode)
    return timed["median"] if timed else None


def work_bytes(row):
    return (row.get("work") or {}).get("bytes") or None


def is_library(row):
    """Is the kernel a library's (or a published program's in Python)? Older rows do not have the key."""
    if name_of(row).startswith(("triton_", "torch_")):
        return False
    return row["backend"] == "peer" or bool(row.get("library", row["variant"].endswith("/cuda_cub_scan")))


BUILD_OF_PACKAGE = re.compile(r"-(core|cu(da)?\d+x?)$")  # "cupy-cuda13x" is CuPy


def whose(row, environment):
    """ "CUB 3.5.0", "torch 2.11.0": the library of the row's kernel, as far as the row and its run name it; else ""."""
    if row.get("library") or row["backend"] != "peer":
        return row.get("library") or ""
    name = name_of(row).removeprefix("peer_") + "_"
    packages = (environment.get("python") or {}).get("packages") or {}
    named = {package: BUILD_OF_PACKAGE.sub("", package).replace("-", "_") + "_" for package in packages}
    fits = [package for package, begin in named.items() if name.startswith(begin)]
    best = max(fits, key=lambda package: len(named[package]), default=None)
    return f"{best} {packages[best]}" if best else ""


def device_of(row):
    """Which ceilings hold for a row: a peer runs where its clock says."""
    if row["backend"] == "peer":
        clocks = [(t or {}).get("clock") or "" for t in (row.get("timing") or {}).values()]
        waits = "jax" in name_of(row)  # on a GPU, timed by the host's clock until the result is there
        return "cuda" if waits or any("cuda" in clock for clock in clocks) else "cpu"
    return "cpu" if row["backend"] == "cpu" else "cuda"


def share_of_limit(row, mode="cold"):
    """The least time that the device needs for the row's bytes over its median; None where none was measured."""
    return ((timing(row, mode) or {}).get("limit") or {}).get("share")


def unjudged(row):
    """Outputs that are not judgeable: their tolerance lets 0 pass for most elements. Older rows do not have this."""
    return [name for name, e in (row.get("errors") or {}).items() if e.get("judgeable") is False]


def definition_of(row):
    """Rows that verify one definition: those of a variant and its tunables with the same words among the parameters."""
    words = tuple(value for value in row["params"].values() if isinstance(value, str))
    return row["spec"], row["dtype"], is_declared(row), words


def not_told(row):
    """Wrong definitions that the row's tolerances would let pass. Older rows do not have this."""
    return row.get("does_not_tell") or []


def is_on_one_input(row):
    """The data of its samples left nearly all outputs as they are. Older rows do not have this."""
    return bool(row.get("timed_on_one_input"))


def again(row):
    """The command that repeats the row, with the data that it failed on."""
    draw = f" --draw {row['draw']}" if row.get("draw") else ""
    return f"rungs run '{row['case']}' --variants '{row['spec'] if draw else row['variant']}'{draw}"


def verdict_words(row):
    """The verdict, which outputs it leaves out, and which wrong definitions it does not tell from the right one."""
    left_out = unjudged(row) if row["verdict"] == "pass" else []
    marks = [f" (not judgeable: {', '.join(left_out)})"] * bool(left_out)
    marks += [f" (does not tell {', '.join(not_told(row))})"] * (row["verdict"] == "pass" and bool(not_told(row)))
    return row["verdict"] + "".join(marks)


def worst_ratio(row):
    """The largest error as a multiple of its bound over all outputs; inf where something is not comparable; None if nothing ran. What
    passed and is not judgeable is left out: of such outputs alone it is None, too."""
    errors, without = row.get("errors"), unjudged(row) if row["verdict"] in ("pass", "skip") else []
    if not errors or len(without) == len(errors):
        return None
    worst = 0.0
    for e in (e for name, e in errors.items() if name not in without):
        if "mismatches" in e:  # right to the byte, or wrong
            worst = max(worst, math.inf if e["mismatches"] else 0.0)
            continue
        if e.get("incomparable") or e.get("unwritten") or e.get("max_ratio") is None:
            return math.inf
        worst = max(worst, e["max_ratio"])
    return worst


def is_declared(row):
    return bool((row.get("bound") or {}).get("declared"))


def number(row, name):
    value = (row.get("params") or {}).get(name)
    return value if isinstance(value, (int, float)) else None


def is_emulated(row):
    return row["backend"] == "emulator"
