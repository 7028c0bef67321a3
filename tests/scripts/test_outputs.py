"""Files that a user names for results: nothing that was there gets lost, and no success is told of what was not written."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

from program import BUILD, CUDA, RELEASE, RUNGS, SOURCE, call, expect, expect_error, rows_of

CASE = "double n=1003"
ROWS = SOURCE / "tests/golden/rows.jsonl"


def is_link_to(path, text):
    return path.is_symlink() and text in path.read_text()


def test_an_input_is_not_replaced(folder):
    """By any name."""
    rows, link = folder / "rows.jsonl", folder / "link.jsonl"
    shutil.copy(ROWS, rows)
    link.symlink_to("rows.jsonl")
    os.link(rows, folder / "hard.jsonl")
    before = rows.read_bytes()
    for out in (rows, link, folder / "hard.jsonl"):
        expect_error(call("export", "csv", rows, "--out", out), 2, "would replace the input", str(out))
        expect_error(call("judge", rows, "--out", out), 2, "would replace the input", str(out))
    expect_error(call("compare", rows, rows, "--json", link), 2, "would replace the input", str(link))
    expect_error(call("report", rows, "--out", link), 2, "would replace the input", str(link))
    expect(rows.read_bytes() == before, "inputs stay as they are")


@pytest.fixture
def rows(folder):
    shutil.copy(ROWS, folder / "rows.jsonl")
    return folder / "rows.jsonl"


def test_export_writes_through_a_link(folder, rows):
    far = folder / "far.csv"
    (folder / "out.csv").symlink_to("far.csv")
    far.write_text("old")
    far.chmod(0o640)
    done = call("export", "csv", rows, "--out", folder / "out.csv")
    expect(
        done.returncode == 0 and is_link_to(folder / "out.csv", "case") and stat.S_IMODE(far.stat().st_mode) == 0o640,
        "export writes through a link",
        done,
    )
    (folder / "new.csv").symlink_to("not-yet.csv")
    done = call("export", "csv", rows, "--out", folder / "new.csv")
    expect(
        done.returncode == 0 and is_link_to(folder / "new.csv", "case"),
        "and through one to a file that is not there yet",
        done,
    )
    done = call("judge", rows, "--out", folder / "out.csv")
    expect(
        done.returncode in ((0, 3) if CUDA else (4,)) and (folder / "out.csv").is_symlink(),
        "so does judge",
        done,
    )
    expect(not [p.name for p in folder.iterdir() if p.name.startswith(".rungs")], "no draft is left")


def test_export_to_what_is_no_regular_file(folder, rows):
    """A folder that is not there, a full disk, devices, a FIFO."""
    expect_error(
        call("export", "csv", rows, "--out", folder / "none/out.csv"), 2, str(folder / "none/out.csv"), "No such file"
    )
    expect_error(call("export", "csv", rows, "--out", "/dev/full"), 4, "/dev/full: cannot be written: No space left")
    for out in ("/dev/stdout", "/dev/fd/1"):
        done = call("export", "csv", rows, "--out", out)
        expect(done.returncode == 0 and "case" in done.stdout, f"export to {out}", done)
    os.mkfifo(folder / "fifo")
    with subprocess.Popen(["cat", folder / "fifo"], stdout=subprocess.PIPE, text=True) as reader:
        done = call("export", "csv", rows, "--out", folder / "fifo", timeout=60)
        expect(
            done.returncode == 0 and "case" in reader.communicate(timeout=60)[0] and (folder / "fifo").is_fifo(),
            "export to a FIFO",
            done,
        )
    expect(not [p.name for p in folder.iterdir() if p.name.startswith(".rungs")], "no draft is left")


def test_a_device_stays_one(folder):
    """As root a rename would put a file in the place of the device. A node of our own stands for /dev/null."""
    node = folder / "null"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        node.write_text("x")
    except OSError as error:
        pytest.skip(f"device nodes: {error}")
    np.save(folder / "x.npy", np.ones(50))
    for arguments in (
        ("export", "csv", ROWS, "--out", node),
        *[("judge", ROWS, "--out", node)][:CUDA],
        ("exec", "rolling/cpu_naive", "--in", f"x={folder}/x.npy", "--set", "window=3", "--out", f"y={node}"),
        ("run", CASE, "--variants", "cpu_loop", "--verify-only", "--out", node),
    ):
        done = call(*arguments)
        expect(
            done.returncode in (0, 3) and stat.S_ISCHR(node.lstat().st_mode),
            f"{arguments[0]} leaves a device one",
            done,
        )


def test_exec_replaces_no_input(folder):
    """Its own inputs, one file under two names, links."""
    x, y, link = folder / "x.npy", folder / "y.npy", folder / "link.npy"
    np.save(x, np.arange(60.0))
    link.symlink_to("x.npy")
    before = x.read_bytes()
    start = ["exec", "rolling/cpu_naive", "--in", f"x={x}", "--set", "window=3"]
    for out in (x, link, folder / "." / "x.npy"):
        expect_error(call(*start, "--out", f"y={out}"), 2, "would replace the input", str(x))
    function = folder / "f.cu"
    shutil.copy(SOURCE / "examples/apply/first_minus_last.cu", function)
    expect_error(
        call(
            "exec",
            "rolling/cpu_apply",
            "--in",
            f"x={x}",
            "--set",
            "agg=apply",
            "--set",
            f"function={function}",
            "--out",
            f"y={function}",
        ),
        2,
        "would replace",
    )
    np.save(folder / "table.npy", np.ones((20, 3)))
    done = call(
        "exec",
        "moments/cpu_two_pass",
        "--in",
        f"x={folder}/table.npy",
        "--out",
        f"mean={y}",
        "--out",
        f"kurtosis={folder}/./y.npy",
    )
    expect_error(done, 2, "each output needs its own file")
    expect(x.read_bytes() == before and not y.exists(), "inputs stay as they are")
    (folder / "out.npy").symlink_to("y.npy")
    done = call(*start, "--out", f"y={folder}/out.npy")
    expect(
        done.returncode == 0 and (folder / "out.npy").is_symlink() and len(np.load(y)) == 60,
        "exec writes through a link",
        done,
    )


def test_arrow_files_go_the_same_way(folder):
    pa, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
    csv, link = folder / "names.csv", folder / "out.arrow"
    csv.write_text("names,visible\nAda,0\nAlan,1\n")
    link.symlink_to("far.arrow")
    start = ["exec", "redact/cpu_best", "--in", f"names={csv}:names", "--in", f"visibilities={csv}:visible"]
    done = call(*start, "--out", f"redacted={link}")
    expect(
        done.returncode == 0 and link.is_symlink() and ipc.open_file(folder / "far.arrow").read_all().num_rows == 2,
        "a column is written through a link",
        done,
    )
    done = call(*start, "--out", f"redacted={folder}/none/out.arrow")
    expect_error(done, 2, f"{folder}/none/out.arrow", "No such file")
    (folder / "full.arrow").symlink_to("/dev/full")
    expect_error(
        call(*start, "--out", f"redacted={folder}/full.arrow"), 4, "full.arrow: cannot be written: No space left"
    )
    arrow = folder / "in.arrow"
    with ipc.new_file(arrow, pa.schema([("names", pa.string())])) as writer:
        writer.write_table(pa.table({"names": ["Ada", "Alan"]}))
    expect_error(
        call(
            "exec",
            "redact/cpu_best",
            "--in",
            f"names={arrow}",
            "--in",
            f"visibilities={csv}:visible",
            "--out",
            f"redacted={arrow}",
        ),
        2,
        "would replace",
    )
    good = arrow.read_bytes()
    offsets = np.array([0, 3, 7], "i4").tobytes()
    expect(good.count(offsets) == 1, "the offsets are found in the file")
    arrow.write_bytes(good.replace(offsets, np.array([0, 3, 99999], "i4").tobytes()))
    done = call(
        "exec",
        "redact/cpu_best",
        "--in",
        f"names={arrow}",
        "--in",
        f"visibilities={csv}:visible",
        "--out",
        f"redacted={folder}/o.arrow",
    )
    expect_error(done, 2, str(arrow))
    expect(
        "Traceback" not in done.stderr and not (folder / "o.arrow").exists(), "offsets out of range are refused", done
    )


def run_into(out, *more, **options):
    return call("run", CASE, "--variants", "cpu_loop", "--verify-only", "--out", out, *more, **options)


def test_rows_are_judged_before_any_is_added(folder):
    good = folder / "good.jsonl"
    expect(run_into(good).returncode == 0, "rows are written")
    whole = good.read_text()
    out = folder / "out.jsonl"
    for what, text, words in (
        ("a foreign line of JSON", '{"name": "x", "version": 1}', ("1:", "kind")),
        ("notes", "my notes\n", ("1:", "not JSON")),
        ("a damaged line", whole + "{damaged}\n" + whole, ("not JSON",)),
        ("another schema", whole.replace('"schema":1', '"schema":2'), ("schema is 2",)),
        ("a source file", '{\n  "kind": "row"\n}\n', ("1:",)),
    ):
        out.write_text(text)
        for resume in ((), ("--resume",)):
            expect_error(run_into(out, *resume), 2, str(out), *words, "nothing was written", what=f"{what} is refused")
        expect(out.read_text() == text, f"{what} stays as it is")
    out.write_text(whole.rstrip("\n"))
    done = run_into(out)
    expect(
        done.returncode == 0 and len(rows_of(out)) == 2 and "dropped" not in done.stderr,
        "a whole last row without a newline is kept",
        done,
    )
    out.write_text(whole + whole[:40])
    done = run_into(out)
    expect(done.returncode == 0 and len(rows_of(out)) == 2 and "dropped" in done.stderr, "a cut one is dropped", done)
    link = folder / "link.jsonl"
    link.symlink_to("good.jsonl")
    done = run_into(link)
    expect(done.returncode == 0 and link.is_symlink() and len(rows_of(good)) == 2, "rows go through a link", done)
    done = call("export", "csv", out)
    out.write_text(out.read_text().rstrip("\n"))
    expect(call("export", "csv", out).stdout == done.stdout, "the readers keep a whole last row, too")


def test_rows_into_a_fifo(folder):
    """A FIFO takes rows while somebody reads it, and says so where nobody does."""
    fifo = folder / "rows.fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True) as reader:
        done = run_into(fifo, timeout=60)
        lines = [json.loads(line) for line in reader.communicate(timeout=60)[0].splitlines()]
        expect(
            done.returncode == 0 and [line["kind"] for line in lines] == ["environment", "row"],
            "rows go into a FIFO",
            done,
        )
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True) as reader:
        expect_error(run_into(fifo, "--resume", timeout=60), 2, "--resume", "holds no rows")
        reader.communicate(timeout=60)
    waiting = subprocess.Popen(
        [RUNGS, "run", CASE, "--variants", "cpu_loop", "--verify-only", "--out", fifo],
        stderr=subprocess.PIPE,
        text=True,
    )
    waiting.send_signal(signal.SIGTERM)
    expect(waiting.wait(30) in (143, -15), "without a reader it can be ended")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["list"],
        ["list", "ops", "--json"],
        ["doctor"],
        ["help", "run"],
        ["export", "csv", ROWS],
        *[["judge", ROWS]][:CUDA],
        ["compare", ROWS, ROWS],
        ["run", CASE, "--variants", "cpu_loop", "--verify-only", "--out", "p.jsonl"],
    ],
    ids=lambda words: " ".join(map(str, words[:2])),
)
def test_every_verb_checks_what_it_prints(folder, arguments):
    closed = arguments[0] in ("list", "run")
    for redirection, why in ((">/dev/full", "No space left"), (">&-", "Bad file descriptor"))[: 1 + closed]:
        done = subprocess.run(
            ["sh", "-c", f'"$0" "$@" {redirection}', RUNGS, *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        long = arguments[0] in (
            "list",
            "export",
            "judge",
            "compare",
        )  # an error of an earlier write has no reason left
        expect(
            done.returncode == 4 and "stdout cannot be written" in done.stderr and (long or why in done.stderr),
            f"{arguments[0]} {redirection}: exit {done.returncode}, {done.stderr.strip()[-80:]}",
        )
    if arguments[0] == "run":
        lines = (folder / "p.jsonl").read_text().splitlines()
        expect(lines and all(line.startswith("{") for line in lines), "what is printed never lands in the rows")


@pytest.mark.parametrize("words", ["list ops --json", f"export csv {ROWS}"], ids=["list", "export"])
def test_a_closed_pipe_is_no_error(words):
    done = subprocess.run(["bash", "-c", f'"{RUNGS}" {words} | true'], capture_output=True, text=True)
    expect(done.stderr == "", "a closed pipe", done)


@pytest.mark.parametrize("module", ["analysis.export csv", f"analysis.compare {ROWS}"], ids=["export", "compare"])
def test_the_scripts_alone_check_what_they_print(module):
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m {module} {ROWS} >/dev/full'],
        stderr=subprocess.PIPE,
        text=True,
        cwd=SOURCE,
    )
    expect(
        done.returncode == 4 and done.stderr == "stdout cannot be written: No space left on device\n",
        f"{module.split()[0]}: {done.stderr[-80:]}",
    )


@pytest.mark.parametrize("name", ["mine.md", "results/rolling.md"])
def test_a_page_that_a_person_wrote_stays(folder, name):
    """Also one beside a new report; nothing is written then."""
    mine = folder / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("my words\n")
    out = folder / ("mine.md" if name == "mine.md" else "other.md")
    expect_error(call("report", ROWS, "--out", out), 2, f"{mine}: was not written by 'rungs report'")
    expect(
        mine.read_text() == "my words\n" and not (folder / "other.md").exists() and not (folder / "figures").exists(),
        f"{name} stays, and all else too",
    )


def test_pages_of_ops_without_rows_go_and_others_stay(folder):
    expect(call("report", ROWS, "--out", folder / "page.md").returncode == 0, "a page is written")
    (folder / "results/none.md").write_text((folder / "results/rolling.md").read_text())
    (folder / "results/mine.md").write_text("my words\n")
    done = call("report", ROWS, "--out", folder / "page.md")
    expect(
        done.returncode == 0 and not (folder / "results/none.md").exists() and (folder / "results/mine.md").exists(),
        "pages of ops without rows go, others stay",
        done,
    )


def test_a_report_from_a_build_folder_that_is_read_only(folder):
    """`report` needs no place in the build folder for files that go elsewhere."""
    build = folder / "build"
    build.mkdir()
    shutil.copy2(RUNGS, build / "rungs")
    shutil.copy2(BUILD / "rungs-places", build)
    mount = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"',
        build,
    ]
    if not shutil.which("unshare") or subprocess.run([*mount, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine lets us mount nothing")
    done = subprocess.run(
        [*mount, build / "rungs", "report", ROWS, "--out", folder / "page.md"], capture_output=True, text=True
    )
    expect(
        done.returncode == 0 and (folder / "page.md").exists(), "a report from a build folder that is read-only", done
    )


def test_files_without_an_end_are_refused_before_the_work(folder):
    """Loops of links, and a device in the place of rows: nobody reads it for ever."""
    loop, out = folder / "loop", folder / "out"
    loop.symlink_to("loop")
    out.mkdir()
    (out / "base.jsonl").symlink_to("/dev/zero")
    expect_error(call("report", ROWS, "--out", folder / "page.md", "--figures", loop), 2, f"{loop}/")
    done = call("calibrate", CASE, "--variants", "cpu_loop", "--quick", "--out", loop)
    expect_error(done, 2, str(loop), "cannot be written")
    expect("process 1 of" not in done.stderr, "calibrate measures nothing for an output that cannot be", done)
    expect_error(call("new", loop), 2, "exists and is not empty")
    if RELEASE:
        expect_error(
            call("ab", RUNGS, RUNGS, CASE, "--variants", "cpu_loop", "--quick", "--out", out, timeout=60),
            2,
            str(out / "base.jsonl"),
        )


def test_a_project_in_two_goes(folder):
    """What was ended in the middle is finished by the same command; what somebody wrote stays."""
    project = folder / "mine"
    expect(call("new", project).returncode == 0, "a project is written")
    whole = {path: path.read_text() for path in project.rglob("*") if path.is_file()}
    expect_error(call("new", project), 2, "exists and is not empty")
    (project / "README.md").write_text(whole[project / "README.md"][:20])
    (project / "scenarios/smoke.yaml").unlink()
    done = call("new", project)
    expect(done.returncode == 0 and whole == {path: path.read_text() for path in whole}, "the rest is written", done)
    (project / "CMakeLists.txt").unlink()
    (project / "README.md").write_text("my words\n")
    expect_error(call("new", project), 2, "exists and is not empty")
    expect((project / "README.md").read_text() == "my words\n", "what a person wrote stays")
