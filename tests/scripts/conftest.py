"""What pytest adds to these files: a folder for each test, and how ctest learns that a file tested nothing."""

import pathlib
import tempfile

import pytest

SKIPPED = 77  # SKIP_RETURN_CODE of tests/CMakeLists.txt


def temporary():
    with tempfile.TemporaryDirectory(prefix="rungs_test_") as name:
        yield pathlib.Path(name).resolve()


@pytest.fixture
def folder():
    """An empty folder of the test's own."""
    yield from temporary()


@pytest.fixture(scope="module")
def shared_folder():
    """One folder for all tests of a file: for what is made once."""
    yield from temporary()


def pytest_sessionfinish(session, exitstatus):
    """Nothing passed and nothing failed: skipped, which pytest itself calls good, or (a whole file) no test."""
    counts = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if "skipped" in counts and not {"passed", "failed", "error"} & counts.keys():
        session.exitstatus = SKIPPED
