"""For test programs that are a list of functions: runs them all, also after one has failed."""


def run_every(names):
    """names: a module's globals(). Calls what begins with test_, in order, and tells of each; returns how many failed."""
    failures = 0
    for name, test in list(names.items()):
        if name.startswith("test_"):
            try:
                test()
                print(f"ok   {name}")
            except Exception as error:  # a test that breaks has failed
                failures += 1
                print(f"FAIL {name}: {error!r}")
    return failures
