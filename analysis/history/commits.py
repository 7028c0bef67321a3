"""What a project's git knows of the commits of rows: their order, subjects, and where the web shows them."""

import datetime
import os
import pathlib
import re
import subprocess
from dataclasses import dataclass

# A checkout may be anybody's: nothing that its configuration names is run, and nothing is fetched.
QUIET = (
    "-c",
    "safe.directory=*",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "i18n.logOutputEncoding=UTF-8",
)
ALONE = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
HASH = re.compile("[0-9a-f]{7,64}")
# ssh://git@host:22/owner/name.git, https://user:token@host/owner/name; git@host:owner/name.git. Without a dot a host is a name in somebody's ssh configuration.
URLS = (
    re.compile(r"(https?|ssh|git)://(?:[^/@]*@)?([\w-]+(?:\.[\w-]+)+)(:\d+)?/([\w./~-]+?)(?:\.git)?/?"),
    re.compile(r"()(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+)():(?!/)([\w./~-]+?)(?:\.git)?/?"),
)


@dataclass(frozen=True, slots=True)
class Commit:
    place: int  # of all that git was asked for and their ancestors; larger: later
    seconds: int  # since 1970
    subject: str
    link: str | None


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
        full = {}
        for name, line in zip(
            asked,
            self.git(
                "cat-file", "--batch-check=%(objectname) %(objecttype)", lines=[f"{name}^{{commit}}" for name in asked]
            ).splitlines(),
        ):
            if line.endswith(" commit"):
                full[name] = line.split(" ")[0]
        if not full:
            return {}
        known = sorted(set(full.values()))
        told = dict(
            line.split("\0", 1)
            for line in self.git(
                "log", "--no-walk=unsorted", "--format=%H%x00%ct%x00%s", "--stdin", lines=known
            ).splitlines()
        )
        places = {
            commit: k
            for k, commit in enumerate(reversed(self.git("rev-list", "--date-order", "--stdin", lines=known).split()))
        }  # no parent after its child
        address = self.address()
        found = {}
        for name, commit in full.items():
            if commit in told and commit in places:
                seconds, subject = told[commit].split("\0", 1)
                found[name] = Commit(places[commit], int(seconds), subject, f"{address}/{commit}" if address else None)
        return found

    def address(self):
        """Of the pages of commits; None: the project has no remote, or not one with pages. Without the user and password that its URL may hold."""
        remotes = self.git("remote").split()
        name = "origin" if "origin" in remotes else remotes[0] if len(remotes) == 1 else None
        url = self.git("config", "--get", f"remote.{name}.url").strip() if name else ""
        found = next((match for pattern in URLS if (match := pattern.fullmatch(url))), None)
        if not found:
            return None
        scheme, host, port, path = found.groups()
        server = f"{scheme}://{host}{port or ''}" if scheme.startswith("http") else f"https://{host}"
        return (
            f"{server}/{path}/{'commits' if host == 'bitbucket.org' else '-/commit' if 'gitlab' in host else 'commit'}"
        )


def unix_time(date):
    """Of an ISO date of a run; 0 where there is none."""
    try:
        return int(datetime.datetime.fromisoformat(date).timestamp())
    except ValueError:
        return 0
