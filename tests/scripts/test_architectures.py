"""Every CUDA file of impls/ and harness/ compiles for every architecture of ARCHITECTURES that this toolkit knows, with the build's own flags: what a kernel asks of
registers, threads and shared memory is decided by ptxas, and the build does it for one architecture. Minutes for each: RUNGS_TEST_FULL=1 only."""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import tempfile

import pytest
from program import BUILD, FULL

ARCHITECTURES = ("75", "80", "86", "89", "90", "100", "120")
GPU_CODE = re.compile(r"-gencode\S*|--generate-code\S*|-arch=\S+|-lineinfo|-o|-c|-x")


def commands():
    """file -> its command without output and architecture."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if not re.search(r"/(impls|harness)/.*\.cu$", entry["file"]) or not any(
            word.endswith("nvcc") for word in words[:2]
        ):
            continue
        words = words[next(k for k, word in enumerate(words) if word.endswith("nvcc")) :]
        kept = [
            word
            for before, word in zip([""] + words, words)
            if not GPU_CODE.fullmatch(word) and before not in ("-o", "-x") and word != entry["file"]
        ]
        found[entry["file"]] = (*kept, "-cubin", entry["file"])
    return found


def architectures(nvcc):
    listed = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    return [number for number in ARCHITECTURES if f"compute_{number}" in listed.split()]


def compiled(command, architecture):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, f"-arch=sm_{architecture}", "--Ofast-compile=max", "-o", f"{folder}/out.cubin"],
            capture_output=True,
            text=True,
        )
    return "" if done.returncode == 0 else f"BAD  {command[-1]} for sm_{architecture}:\n{done.stdout}{done.stderr}"


@pytest.mark.skipif(not FULL, reason="every CUDA file for every architecture is compiled with --full only")
def test_every_file_compiles_for_every_architecture():
    files = commands()
    if not files:
        pytest.skip("this build compiles no CUDA file with nvcc")
    bad = []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for architecture in architectures(next(iter(files.values()))[0]):
            bad += filter(None, pool.map(lambda command: compiled(command, architecture), files.values()))
    assert not bad, "\n".join(bad)
