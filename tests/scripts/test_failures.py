"""tests/failures reads what the real ctest writes."""

import subprocess

from program import SOURCE

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(suite NONE)
enable_testing()
add_test(NAME good COMMAND true)
add_test(NAME bad COMMAND sh -c "echo said; echo 'E   assert 1 == 2'; exit 1")
add_test(NAME flaky COMMAND sh -c "mkdir once || exit 0; echo 'FAIL: a file'; exit 1")
add_test(NAME crash COMMAND sh -c "kill -SEGV \\$\\$")
"""


def test_each_failure_is_told(folder):
    (folder / "CMakeLists.txt").write_text(PROJECT)
    subprocess.run(["cmake", "-B", folder / "build", folder], check=True, capture_output=True)
    done = subprocess.run(["ctest", "--test-dir", folder / "build", "--repeat", "until-pass:2"], capture_output=True)
    assert done.returncode != 0
    log = folder / "build/Testing/Temporary/LastTest.log"
    told = subprocess.run([SOURCE / "tests/failures", log], check=True, capture_output=True, text=True).stdout
    assert sorted(told.splitlines()) == [
        "    E   assert 1 == 2",  # of each attempt
        "    E   assert 1 == 2",
        "    FAIL: a file",
        "bad failed:",
        "crash failed:",
        "flaky failed, and passed when run again:",
    ]
