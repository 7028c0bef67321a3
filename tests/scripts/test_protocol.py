"""The words of the worker protocol stand once, in harness/protocol.h: workers in Python have the same, docs/PROTOCOL.md has every command, and
no other file of pipeline, worker and device spells one out."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
HEADER = SOURCE / "harness/protocol.h"
PEERS = sorted((SOURCE / "harness/device").glob("peer_*.py"))
WORDS = re.compile(r"(DO|KEY|WHAT)_[A-Z_]+")
ELSEWHERE = {"device", "cuda", "cpu"}  # words that mean other things, too


def as_the_compiler_reads(header):
    told = subprocess.run(["cc", "-dM", "-E", "-xc", header], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r'#define ((?:DO|KEY|WHAT)_\w+) "(.*)"', told))


def as_python_reads(module):
    spec = importlib.util.spec_from_file_location("peer_protocol", module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return {name: word for name, word in vars(loaded).items() if WORDS.fullmatch(name)}


def spelled_out(text, words):
    """Keys and commands that a file has as a text of its own; not members of structs of C."""
    without = re.sub(
        r"#\s*include[^\n]*|//[^\n]*|/\*.*?\*/|status_fail\([^;]*;|_fields_ = \[.*?\]", "", text, flags=re.S
    )
    return [word for word in words if f'"{word}"' in without]


class Protocol(unittest.TestCase):
    def test_python_has_the_same_words(self):
        words = as_the_compiler_reads(HEADER)
        self.assertGreater(len(words), 60)
        self.assertEqual(as_python_reads(SOURCE / "harness/device/peer_protocol.py"), words)

    def test_a_changed_word_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            device = pathlib.Path(folder) / "device"
            device.mkdir()
            shutil.copy(SOURCE / "harness/device/peer_protocol.py", device)
            changed = HEADER.read_text().replace('DO_PREPARE "prepare"', 'DO_PREPARE "get_ready"')
            (device.parent / "protocol.h").write_text(changed)
            self.assertEqual(as_python_reads(device / "peer_protocol.py")["DO_PREPARE"], "get_ready")
            (device.parent / "protocol.h").write_text(changed.replace("#define DO_PREPARE", "#define  DO_PREPARE"))
            self.assertNotEqual(as_python_reads(device / "peer_protocol.py"), as_the_compiler_reads(HEADER))

    def test_what_python_uses_is_there(self):
        words, used = as_the_compiler_reads(HEADER), set()
        for path in PEERS:
            used |= set(re.findall(r"\bwire\.(\w+)", path.read_text()))
        self.assertGreater(len(used), 30)
        self.assertEqual(used - set(words), set())

    def test_the_page_has_every_command(self):
        page = (SOURCE / "docs/PROTOCOL.md").read_text()
        commands = {word for name, word in as_the_compiler_reads(HEADER).items() if name.startswith("DO_")}
        self.assertEqual(set(re.findall(r"^\| `(\w+)` \|", page, re.M)), commands)

    def test_no_other_file_spells_them_out(self):
        words = as_the_compiler_reads(HEADER)
        distinct = {word for name, word in words.items() if "_" in word or name in ("KEY_DO", "KEY_CHECKS")} - ELSEWHERE
        self.assertEqual(spelled_out('json_pack("{s:s}", "do", what) /* "from_set" */', ["do", "from_set"]), ["do"])
        for folder in ("pipeline", "worker", "device"):
            for path in sorted((SOURCE / "harness" / folder).glob("*.[chp]*")):
                with self.subTest(path=path.name):
                    self.assertEqual(spelled_out(path.read_text(), sorted(distinct)), [])


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
