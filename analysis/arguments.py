"""The command line of a script that `rungs` starts: errors in the words of the program, without argparse's usage text. Exit code 2."""

import argparse
import difflib
import re
import sys

from analysis.foreign import terminal


class Parser(argparse.ArgumentParser):
    """prog is the verb, "rungs export": the program itself puts it before the message."""

    def error(self, message):
        message = re.sub(r"^argument (--\S+): ", r"\1 ", message)
        message = re.sub(r"^argument [^:]+: ", "", message)
        print(f"{terminal(message)} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(2)


def one_of(what, names):
    """For `type`: one of the names, with a suggestion where it is none."""

    def parse(text):
        if text in names:
            return text
        near = difflib.get_close_matches(text, names, 1)
        suggestion = f"; did you mean '{near[0]}'?" if near else ""
        raise argparse.ArgumentTypeError(f"unknown {what} '{text}'{suggestion} (known: {', '.join(names)})")

    return parse
