"""What a script writes: files that a user names, as harness/base/output.h has it for the program, and stdout."""
import errno
import functools
import os
import re
import stat
import sys
import tempfile

MACHINE, USAGE = 4, 2
NO_SUCH_PLACE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)
DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


class End(Exception):
    """What ends a script with one line for its user, and with this exit code."""
    code = USAGE


class CannotWrite(End):
    """code: 2 for a path that cannot be, 4 for what the machine refuses."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def spare(out, inputs):
    """Refuses to write over what is read, by whatever name."""
    for path in inputs:
        if os.path.isfile(out) and os.path.exists(path) and os.path.samefile(out, path):
            raise CannotWrite(f"{out}: this would replace the input {path}; name another file", USAGE)


def write_whole(path, text, inputs=(), folder=False):
    """A regular file appears whole or stays as it was, also behind symbolic links; devices, pipes and FIFOs are written as they are. folder: the
    file's own folder is made if it is missing, not those above it."""
    path, data = str(path), text if isinstance(text, bytes) else text.encode()
    spare(path, inputs)
    try:
        named = DESCRIPTOR.fullmatch(path)
        number = int(named[1]) if named else STREAMS.get(path)
        if number is not None:
            write_to(os.dup(number), data)
        elif os.path.exists(path) and not os.path.isfile(path):
            write_to(os.open(path, os.O_WRONLY), data)
        else:
            if folder and not os.path.isdir(os.path.dirname(path)):
                os.mkdir(os.path.dirname(path))
            replace(os.path.realpath(path), data)
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be written: {error.strerror}", USAGE if error.errno in NO_SUCH_PLACE else MACHINE) from error


def write_to(descriptor, data):
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def replace(path, data):
    descriptor, draft = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".rungs-")
    try:
        write_to(descriptor, data)
        os.chmod(draft, stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o666 & ~mask())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def mask():
    now = os.umask(0o22)
    os.umask(now)
    return now


def ends(main):
    """main(), which then tells an End, or what a file could not do, on stderr, and returns its code."""
    @functools.wraps(main)
    def told(*words):
        try:
            return main(*words)
        except (End, OSError) as error:
            if isinstance(error, OSError) and error.filename is None:  # stdout: run() tells
                raise
            print(error, file=sys.stderr)
            return getattr(error, "code", USAGE)
    return told


def run(main):
    """The exit code of a script: that of main(), or a failure if its output could not be written. A reader that closed the pipe needs no message."""
    code = None
    try:
        code = main()
        sys.stdout.flush()
        return code
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the flush at the interpreter's end
        if not isinstance(error, BrokenPipeError):
            print(f"stdout cannot be written: {error.strerror}", file=sys.stderr)
        return code or (128 + 13 if isinstance(error, BrokenPipeError) else MACHINE)
