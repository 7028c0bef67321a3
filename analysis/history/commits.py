"""What a project's git knows of the commits of rows: their order and subjects."""

import datetime
import os
import pathlib
import re
import subprocess
from dataclasses import dataclass

# A checkout may be anybody's: nothing that its configuration names is run, and nothing is fetched.
SETTINGS = (
    "safe.directory=*",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
)
QUIET = [word for setting in SETTINGS for word in ("-c", setting)]
ALONE = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
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
        try:
            done = subprocess.run(
                ["git", "-C", self.folder, *QUIET, *words],
                input="".join(f"{line}\n" for line in lines).encode(),
                capture_output=True,
                check=False,
                env={**os.environ, **ALONE},
            )
        except OSError:
            return ""
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def find(self, names):
        """Name (a hash, maybe abbreviated) -> Commit; those that git does not know are missing."""
        asked = sorted(name for name in names if HASH.fullmatch(name)) if (self.folder / ".git").exists() else []
        told = self.git(
            "cat-file", "--batch-check=%(objectname) %(objecttype)", lines=[f"{name}^{{commit}}" for name in asked]
        )
        full = {n: line.split(" ")[0] for n, line in zip(asked, told.splitlines()) if line.endswith(" commit")}
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
