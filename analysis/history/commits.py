"""What a project's git knows of the commits of rows: their order and subjects."""

import datetime
import pathlib
import re
import runpy
from dataclasses import dataclass

GIT = runpy.run_path(str(pathlib.Path(__file__).resolve().parents[2] / "cmake/checkout.py"))
HASH = re.compile("[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class Commit:
    place: int  # of all that git was asked for and their ancestors; larger: later
    seconds: int  # since 1970
    subject: str


class Repository:
    """folder: a project's. One without a .git of its own may lie in somebody else's checkout, which knows none of its commits."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def git(self, *words, lines=()):
        """Its output; nothing where git fails or is missing."""
        return GIT["call"](self.folder, (), words, "".join(f"{line}\n" for line in lines)) or ""

    def find(self, names):
        """Name (a hash, maybe abbreviated) -> Commit; those that git does not know are missing."""
        asked = sorted(name for name in names if HASH.fullmatch(name)) if (self.folder / ".git").exists() else []
        types = self.git(
            "cat-file", "--batch-check=%(objectname) %(objecttype)", lines=[f"{name}^{{commit}}" for name in asked]
        )
        full = {n: line.split(" ")[0] for n, line in zip(asked, types.splitlines()) if line.endswith(" commit")}
        if not full:
            return {}
        known = sorted(set(full.values()))
        log = self.git("log", "--no-walk=unsorted", "--format=%H%x00%ct%x00%s", "--stdin", lines=known)
        facts = {
            commit: (int(seconds), subject) for commit, seconds, subject in (x.split("\0", 2) for x in log.splitlines())
        }
        ages = reversed(self.git("rev-list", "--date-order", "--stdin", lines=known).split())
        places = {commit: k for k, commit in enumerate(ages)}  # no parent after its child
        return {n: Commit(places[c], *facts[c]) for n, c in full.items() if c in facts and c in places}


def unix_time(date):
    """Of an ISO date of a run; 0 where there is none."""
    try:
        return int(datetime.datetime.fromisoformat(date).timestamp())
    except ValueError:
        return 0
