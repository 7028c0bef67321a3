"""What pytest adds to these files: a folder for each test, and how ctest learns that a file tested nothing."""

import concurrent.futures
import os
import pathlib
import tempfile

import pytest

os.environ["RUNGS_WORKERS_WRITE"] = "/dev/shm"  # worker_folder; what a mutant says of itself
SKIPPED = 77  # SKIP_RETURN_CODE of tests/CMakeLists.txt


def temporary(place=None):
    with tempfile.TemporaryDirectory(prefix="rungs_test_", dir=place) as name:
        yield pathlib.Path(name).resolve()


@pytest.fixture
def folder():
    """An empty folder of the test's own."""
    yield from temporary()


@pytest.fixture
def worker_folder():
    """An empty folder that workers may write to, too (device/confine.h)."""
    yield from temporary("/dev/shm")


@pytest.fixture(scope="module")
def shared_folder():
    """One folder for all tests of a file: for what is made once."""
    yield from temporary()


@pytest.fixture(scope="module")
def begun(request, shared_folder):
    """The tests of a file that are at_once (program.py): futures by the names of the tests."""
    futures = {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for item in request.session.items:
            if item.module is request.module and hasattr(item.function, "begins"):
                folder = shared_folder / str(len(futures))
                folder.mkdir()
                parameters = item.callspec.params if hasattr(item, "callspec") else {}
                futures[item.nodeid] = pool.submit(item.function.begins, folder, **parameters)
        yield futures


def pytest_sessionfinish(session, exitstatus):
    """Nothing passed and nothing failed: skipped, which pytest itself calls good, or (a whole file) no test."""
    counts = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if "skipped" in counts and not {"passed", "failed", "error"} & counts.keys():
        session.exitstatus = SKIPPED
