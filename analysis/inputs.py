"""What a script reads: regular files of any size; of a pipe or a device so many bytes at most, as harness/base/text.h has it for the program. These can be read once:
who asks again gets the same bytes."""

import functools
import io
import os
import stat

from analysis.output import End

MOST_OF_A_PIPE, MOST_OF_A_DEVICE = 256 << 20, 16 << 20


class TooLong(End):
    """Something without an end, most likely."""


def opened(path):
    """A binary file. OSError, or TooLong."""
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return open(path, "rb")
    return io.BytesIO(kept(str(path), MOST_OF_A_PIPE if stat.S_ISFIFO(mode) else MOST_OF_A_DEVICE))


@functools.cache
def kept(path, most):
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLong(f"{path}: more than {most >> 20} MiB; such a file is not read")
    return data
