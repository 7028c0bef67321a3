"""What a script writes: stdout, and files that a user names. The program alone opens, checks and finishes such files (harness/cli/files.h): it hands a script the
descriptor RUNGS_OUTPUTS, and writes what it finds there when the script has ended well."""

import functools
import os
import pathlib
import sys

from analysis.foreign import terminal

CHECK, USAGE, MACHINE = 1, 2, 4
CHECK_FAILED = 10  # instead of CHECK, with which Python itself ends where it cannot start (harness/cli/python.c)


class End(Exception):
    """What ends a script with one line for its user, and with this exit code."""

    code = USAGE

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code or self.code


def hand_over(verb, path=b"", data=b"", begins=b"", folders=False):
    """One record of harness/cli/files.c. False: no program is there, the script was started by hand."""
    if "RUNGS_OUTPUTS" not in os.environ:
        return False
    path, begins = os.fsencode(path), begins.encode() if isinstance(begins, str) else begins
    record = f"{verb} {len(path)} {len(begins)} {len(data)} {int(folders)}\n".encode() + path + begins + data
    with os.fdopen(os.dup(int(os.environ["RUNGS_OUTPUTS"])), "wb") as file:
        file.write(record)
    return True


def write_whole(path, text, folders=False, begins=""):
    """folders: those of the file are made where they are missing. begins: how a file begins that this may replace; one that a person wrote stays, and the verb
    ends with 2."""
    data = text if isinstance(text, bytes) else text.encode()
    if hand_over("write", path, data, begins, folders):
        return
    if folders:
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_bytes(data)


def remove(path, begins=""):
    """A regular file of an earlier run, where it begins so."""
    if hand_over("remove", path, begins=begins):
        return
    with open(path, "rb") as file:
        known = file.read(len(begins.encode())) == begins.encode()
    if known:
        os.unlink(path)


def ends(main):
    """main(), which then tells an End, or what a file could not do, on stderr, and returns its code."""

    @functools.wraps(main)
    def ended(*words):
        try:
            return main(*words)
        except (End, OSError) as error:
            if isinstance(error, OSError) and error.filename is None:  # stdout: run() tells
                raise
            print(terminal(error, lines=True), file=sys.stderr)
            return getattr(error, "code", USAGE)

    return ended


def run(main):
    """The exit code of a script: that of main(), or a failure if its output could not be written. A reader that closed the pipe needs no message."""
    code = None
    try:
        code = main()
        sys.stdout.flush()
        hand_over("end")
        return CHECK_FAILED if code == CHECK else code
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the flush at the interpreter's end
        if not isinstance(error, BrokenPipeError):
            print(f"stdout cannot be written: {error.strerror}", file=sys.stderr)
        return (CHECK_FAILED if code == CHECK else code) or (
            128 + 13 if isinstance(error, BrokenPipeError) else MACHINE
        )
