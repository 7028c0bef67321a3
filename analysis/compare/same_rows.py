"""Which rows of BASE and NEW are the same measurement although their case or spec differs: a renamed variant, other inputs."""

INPUT_KEYS = ("input", "seed")


def renames(base, new):
    """Spec in NEW -> spec in BASE: those that only one side has, one of each, with the same machine code on the same op and tunables."""
    specs = [{key[1] for key in side.rows} for side in (base, new)]
    olds, news = codes_of(base, specs[0] - specs[1]), codes_of(new, specs[1] - specs[0])
    return {
        next(iter(news[code])): next(iter(olds[code]))
        for code in news
        if code and len(news[code]) == len(olds.get(code, ())) == 1
    }


def codes_of(side, specs):
    """Hashes of device and host code -> the specs that have it; None: not known."""
    codes = {}
    for (_, spec, *_), runs in side.rows.items():
        if spec in specs:
            row = next(iter(runs.values()))
            code = row.get("code") or {}
            known = code.get("host_hash")  # of a CUDA variant never alone
            codes.setdefault(
                (row["op"], code["sass_hash"], code["host_hash"], *spec.split(" ")[1:]) if known else None, set()
            ).add(spec)
    return codes


def pair_other_inputs(found, base, new):
    """A row missing and a row new that differ in nothing but their inputs are one row that cannot be compared."""
    rows = {}
    for side in (base, new):
        for key, runs in side.rows.items():
            rows[key[0], key[1], key[2]] = next(iter(runs.values()))

    def apart_from_inputs(c):
        row = rows[c.case, c.spec, c.emulated]
        return row["op"], str(sorted((row.get("params") or {}).items())), row.get("dtype"), c.spec, c.emulated

    def inputs(c):
        row = rows[c.case, c.spec, c.emulated]
        return ", ".join(f"{key} {row.get(key)}" for key in INPUT_KEYS)

    gone = {}
    for c in found:
        if c.verdict == "missing" and c.mode is None and c.reason == "not in NEW":
            gone.setdefault(apart_from_inputs(c), []).append(c)
    dropped = set()
    for c in found:
        if (
            c.verdict == "new"
            and c.mode is None
            and c.reason == "not in BASE"
            and len(gone.get(apart_from_inputs(c), [])) == 1
        ):
            old = gone.pop(apart_from_inputs(c))[0]
            old.verdict, old.reason = "not comparable", f"different inputs: {inputs(old)} in BASE, {inputs(c)} in NEW"
            dropped.add(id(c))
    return [c for c in found if id(c) not in dropped]
