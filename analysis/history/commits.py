"""When a commit was made: from git, where this checkout knows it."""
import datetime
import pathlib
import subprocess

# A checkout may be anybody's: nothing that its configuration names is run.
QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def dates(commits):
    """commit -> seconds since 1970; those that git does not know are missing. One call for each: git stops at the first that it does not know."""
    found = {}
    for commit in commits:
        try:
            done = subprocess.run(["git", "-C", ROOT, *QUIET, "log", "-1", "--format=%ct", f"{commit}^{{commit}}", "--"], capture_output=True, text=True, check=False)
        except OSError:
            return {}
        if done.returncode == 0 and done.stdout.strip().isdigit():
            found[commit] = int(done.stdout)
    return found


def unix_time(date):
    """Of an ISO date of a run; 0 where there is none."""
    try:
        return int(datetime.datetime.fromisoformat(date).timestamp())
    except ValueError:
        return 0
