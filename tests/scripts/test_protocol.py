"""The words of the worker protocol stand once, in harness/protocol.h: workers in Python have the same, docs/PROTOCOL.md has every command, and
no other file of pipeline, worker and device spells one out."""

import importlib.util
import re
import shutil
import subprocess

import pytest
from checkout import SOURCE

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


def test_python_has_the_same_words():
    words = as_the_compiler_reads(HEADER)
    assert len(words) > 60
    assert as_python_reads(SOURCE / "harness/device/peer_protocol.py") == words


def test_a_changed_word_is_noticed(folder):
    device = folder / "device"
    device.mkdir()
    shutil.copy(SOURCE / "harness/device/peer_protocol.py", device)
    changed = HEADER.read_text().replace('DO_PREPARE "prepare"', 'DO_PREPARE "get_ready"')
    (device.parent / "protocol.h").write_text(changed)
    assert as_python_reads(device / "peer_protocol.py")["DO_PREPARE"] == "get_ready"
    (device.parent / "protocol.h").write_text(changed.replace("#define DO_PREPARE", "#define  DO_PREPARE"))
    assert as_python_reads(device / "peer_protocol.py") != as_the_compiler_reads(HEADER)


def test_what_python_uses_is_there():
    words, used = as_the_compiler_reads(HEADER), set()
    for path in PEERS:
        used |= set(re.findall(r"\bwire\.(\w+)", path.read_text()))
    assert len(used) > 30
    assert used - set(words) == set()


def test_the_page_has_every_command():
    page = (SOURCE / "docs/PROTOCOL.md").read_text()
    commands = {word for name, word in as_the_compiler_reads(HEADER).items() if name.startswith("DO_")}
    assert set(re.findall(r"^- `(\w+)`(?: \(.*?\))?: ", page, re.M)) == commands


FILES = [
    path
    for folder in ("pipeline", "worker", "device")
    for path in sorted((SOURCE / "harness" / folder).glob("*.[chp]*"))
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE / "harness")))
def test_no_other_file_spells_them_out(path):
    words = as_the_compiler_reads(HEADER)
    distinct = {word for name, word in words.items() if "_" in word or name in ("KEY_DO", "KEY_VARY")} - ELSEWHERE
    assert spelled_out(path.read_text(), sorted(distinct)) == []


def test_a_word_that_is_spelled_out_is_noticed():
    assert spelled_out('json_pack("{s:s}", "do", what) /* "min_samples" */', ["do", "min_samples"]) == ["do"]
