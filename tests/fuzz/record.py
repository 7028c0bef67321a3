"""What docs/data/reliability.md says of a topic: tests/faults/page.py reads it. Nothing is recorded outside of ctest."""

import json
import os
import pathlib


def path_of(topic):
    build = os.environ.get("RUNGS_BUILD")
    return (
        build
        and pathlib.Path(build)
        / "tests"
        / "faults"
        / "fuzz"
        / f"{topic}{'-full' if os.environ.get('RUNGS_TEST_FULL') else ''}.json"
    )


def begin(topic):
    if path_of(topic):
        path_of(topic).parent.mkdir(parents=True, exist_ok=True)
        path_of(topic).unlink(missing_ok=True)


def end(topic, count):
    if path_of(topic):
        path_of(topic).write_text(
            json.dumps({f"fuzzing: {topic}": {"tried": count, "survived": count, "known": [], "lost": 0}})
        )
