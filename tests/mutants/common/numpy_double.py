"""What peers that are wrong on purpose share: everything but run()."""


def supports(case, tunables):
    del case, tunables


def prepare(case, tunables, shapes):
    del case, tunables, shapes
    return {"calls": 0}
