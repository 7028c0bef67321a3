"""Facts of a checkout from git: its commit, and whether a build of it would differ from that commit. The folder may belong to another user, as a
container's mount does. A checkout may be anybody's: its configuration names programs (a file monitor, hooks, filters, remotes, gpg) that git would run
with our rights; none of them is run.

    checkout.py FOLDER HEADER    a step of the build: writes the header with the commit, and touches it only when that changes
"""

import os
import pathlib
import subprocess
import sys

SECONDS = 20
FIXED = """-c safe.directory=* -c core.fsmonitor=false -c core.hooksPath=/dev/null -c log.showSignature=false
    -c i18n.logOutputEncoding=UTF-8""".split()
FILTERS = ("config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$")
# Changes of results and of what is generated from them are none.
TRACKED = "status --porcelain --untracked-files=no --ignore-submodules=all -- . :!results :!REPORT.md :!docs/figures"
# The build takes what it finds there: a new variant needs no other file to be changed. Rows, logs and notes may lie beside the sources.
NEW = "ls-files --others --exclude-standard -- harness impls reference cmake tests/mutants tests/regression CMakeUserPresets.json"


def call(folder, settings, words, asked=""):
    """settings: those of the configuration that get an empty value. asked: git's stdin."""
    variables = {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    for k, name in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{k}": name, f"GIT_CONFIG_VALUE_{k}": ""}
    try:
        done = subprocess.run(
            ["git", "-C", folder, *FIXED, *words],
            input=asked.encode(),
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, **variables, "GIT_CONFIG_COUNT": str(len(settings))},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").rstrip("\n") if done.returncode == 0 else None


def ask(folder, *words):
    """What git prints, or None: it does not tell. A folder without a .git of its own may lie in somebody else's checkout: that commit is none of it."""
    if not os.path.exists(f"{folder}/.git"):
        return None
    return call(folder, (call(folder, (), FILTERS) or "").splitlines(), words)


def commit(folder, name="HEAD"):
    """That a name stands for (a branch, a tag, HEAD~1), or None."""
    return ask(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") or None


def changes(folder):
    """What has changed beside the commit, as `git status` has it; empty: nothing; None: git does not tell."""
    tracked, new = ask(folder, *TRACKED.split()), ask(folder, *NEW.split())
    return None if tracked is None or new is None else tracked or new


def main(folder, header):
    name = commit(folder)
    changed = changes(folder) if name else None
    dirty = "NULL" if changed is None else '"yes"' if changed else '"no"'
    quoted = f'"{name}"' if name else "NULL"
    text = f"#define PROGRAM_COMMIT {quoted}\n#define PROGRAM_DIRTY {dirty}\n"
    path = pathlib.Path(header)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
