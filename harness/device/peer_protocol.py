"""peer_protocol.py - the commands of the worker protocol and the keys of commands and replies: DO_OPEN, KEY_SAMPLES, ..., read from
harness/protocol.h."""

import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parents[1] / "protocol.h"
globals().update(re.findall(r'^#define (\w+) "(\w+)"', HEADER.read_text(encoding="utf-8"), re.MULTILINE))


class Failure(Exception):
    """What is replied as an error: docs/PROTOCOL.md."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind
