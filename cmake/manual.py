"""Writes the manual page and the completion for bash of an installed program, from what it says of itself: `help` and `VERB --help`, which
print the tables of verbs and options.

usage: manual.py PROGRAM SHARE     SHARE: the folder share/ of the prefix
"""

import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^  (--[a-z-]+)( [A-Z|a-z]+)? +(\S.*)$")
VERB = re.compile(r"^  ([a-z]+) +(\S.*)$")


def ask(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def verbs_of(program):
    """{verb: (summary, usage, [(option, argument, help)])}, without `test`, which the script of a checkout does."""
    found = {}
    for verb, summary in (m.groups() for m in map(VERB.match, ask(program, "help").splitlines()) if m):
        if verb == "test":
            continue
        lines = ask(program, verb, "--help").split("\n\n")[0].splitlines()  # what follows is another program's
        options = []
        for line in lines:
            if match := OPTION.match(line):
                options.append([match[1], (match[2] or "").strip(), match[3]])
            elif options and line.startswith("     "):
                options[-1][2] += " " + line.strip()
        found[verb] = (summary, lines[0].removeprefix("usage: "), options)
    return found


def plain(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")


def page(verbs, version, codes):
    lines = [f'.TH RUNGS 1 "" "rungs {version}" "User Commands"', ".SH NAME"]
    lines += ["rungs \\- verify and measure implementations of one algorithm side by side"]
    lines += [".SH SYNOPSIS", ".B rungs", ".I VERB", "..."]
    for verb, (summary, usage, options) in verbs.items():
        lines += [f".SH RUNGS {verb.upper()}", f".B {plain(usage)}", ".PP", plain(summary)]
        for name, argument, text in options:
            lines += [".TP", f"\\fB{plain(name)}\\fR" + (f" \\fI{argument}\\fR" if argument else ""), plain(text)]
    return "\n".join([*lines, ".SH EXIT STATUS", plain(codes), ""])


def completion(verbs):
    cases = "\n".join(
        f"    {verb}) words='{' '.join([*(name for name, _, _ in options), '--help'])}' ;;"
        for verb, (_, _, options) in verbs.items()
    )
    return f"""# bash completion of rungs, made by cmake/manual.py
_rungs() {{
    local words=''
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W '{" ".join(verbs)} help --version' -- "$2")
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    if [[ $2 == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2"); else mapfile -t COMPREPLY < <(compgen -f -- "$2"); fi
}}
complete -o filenames -F _rungs rungs
"""


def main():
    program, share = sys.argv[1], pathlib.Path(sys.argv[2])
    verbs = verbs_of(program)
    version = ask(program, "--version").split()[1]
    codes = re.search(r"Exit codes: (.*)", ask(program, "help"), re.DOTALL)[1].replace("\n", " ")
    made = {"man/man1/rungs.1": page(verbs, version, codes), "bash-completion/completions/rungs": completion(verbs)}
    for path, text in made.items():
        (share / path).parent.mkdir(parents=True, exist_ok=True)
        (share / path).write_text(text)


if __name__ == "__main__":
    main()
