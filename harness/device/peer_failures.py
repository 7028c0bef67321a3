"""What a library's worker replies when something fails: docs/PROTOCOL.md, `skip` and `error`."""

import errno
import os

FOR_THE_MOMENT = tuple(map(os.strerror, (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EIO)))


class Failure(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def missing(framework, error):
    """Why the library cannot be imported. A shortage of the machine, such as memory, is an error and no reason to skip."""
    from peer import HOW_TO_GET

    if any(words.lower() in str(error).lower() for words in FOR_THE_MOMENT):
        raise Failure("io", f"{framework} could not be imported: {error}") from error
    name = (error.name or framework).split(".")[0]
    how = HOW_TO_GET.get(name) or HOW_TO_GET.get(framework.split("-")[0], "see requirements.txt")
    if isinstance(error, ModuleNotFoundError):
        return f"{name} is not installed: {how}"
    return f"{framework} could not be imported: {error}"


def kind_of(error):
    words = f"{type(error).__name__} {error}".lower()
    if isinstance(error, Failure):
        return error.kind
    if isinstance(error, MemoryError) or "outofmemory" in words or "out of memory" in words:
        return "memory"
    if isinstance(error, OSError):
        return "io"
    return "device" if "cuda" in words else "internal"


def words_of(error):
    return str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
