"""Variants as modules: what a file in impls/ can do to the program, and what the program makes of it. The real program and the real compiler, on a
folder of variants of the test's own."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
from program import BUILD, CUDA, EMULATOR, FULL, RUNGS, SOURCE, rows_of

GOOD = """#include "variant.h"
{above}
static Status run(const VariantArgs *args) {{
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < array_count(&args->out[0]); i++) y[i] = {value};
    return STATUS_OK;
}}
{below}
RUNGS_VARIANT({op}, {name}) = {{.backend = BACKEND_CPU, .summary = "{summary}", .origin = "a test", .run = run}};
"""
CASE = "double n=1003 dtype=f64"
QUICK = ("--quick", "--no-ceilings", "--no-counts")


def variant(name, op="double", value="2 * x[i]", above="", below="", summary="doubles"):
    return GOOD.format(name=name, op=op, value=value, above=above, below=below, summary=summary)


class World:
    """A program that lies beside modules and variants of its own; its compilers and its harness are the build's."""

    def __init__(self, folder):
        self.folder = folder
        self.tree, self.modules = self.folder / "tree", self.folder / "build/modules"
        self.program = self.folder / "build/bin/rungs"
        for path in (self.tree / "impls/double", self.tree / "scenarios", self.modules, self.program.parent):
            path.mkdir(parents=True)
        shutil.copy2(RUNGS, self.program)
        if EMULATOR:
            (self.program.parent / "rungs-emulator").symlink_to(BUILD / "bin/rungs-emulator")
        (self.folder / "build/rungs-places").write_text(
            f"project {self.tree}\nharness {SOURCE}\nlibraries {BUILD / 'lib'}\n"
        )
        settings = json.loads((BUILD / "modules/settings.json").read_text())
        settings |= {"root": str(self.tree), "program": str(self.program), "build": ""}
        (self.modules / "settings.json").write_text(json.dumps(settings))

    def write(self, name, text, op="double"):
        path = self.tree / "impls" / op / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def call(self, *words, seconds=240, **environment):
        words += ("--no-sandbox",) if words[0] == "try" else ()  # that is test_sandbox.py's
        return subprocess.run(
            [self.program, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=seconds,
            env=os.environ | environment,
            cwd=self.folder,
        )

    def run_all(self, *words, case=CASE, **environment):
        """(what came of it, row by variant)"""
        rows = self.folder / "rows.jsonl"
        rows.unlink(missing_ok=True)
        done = self.call("run", case, *QUICK, *words, "--out", rows, **environment)
        return done, {row["variant"]: row for row in rows_of(rows)} if rows.exists() else {}

    def check(self, done, code, *said):
        told = f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == code, told
        for words in said:
            assert words in done.stdout + done.stderr, told


@pytest.fixture
def world(folder, request):
    return World(folder / getattr(request, "param", ""))


# One that has no module costs its own row.


def test_beside_a_good_one(world):
    world.write("cpu_good.c", variant("cpu_good"))
    world.write("cpu_broken.c", variant("cpu_broken", value="2 * x[i"))
    world.write("cpu_unlinked.c", variant("cpu_unlinked", above="double nowhere(double);", value="nowhere(x[i])"))
    world.write("cpu_other.c", variant("cpu_another"))
    world.write("cpu_none.c", "int nothing;\n")
    world.write("cpu_two.c", variant("cpu_two") + variant("cpu_three").split("\n", 1)[1])
    done, rows = world.run_all()
    world.check(done, 1, "1 passed", "5 errors")
    assert rows["double/cpu_good"]["verdict"] == "pass"
    for name, said in (
        ("broken", "impls/double/cpu_broken.c:6:"),
        ("unlinked", "nothing that it is made of defines nowhere"),
        (
            "other",
            "the descriptor is RUNGS_VARIANT(double, cpu_another), the path requires RUNGS_VARIANT(double, cpu_other)",
        ),
        ("none", "no descriptor; end the file with RUNGS_VARIANT(double, cpu_none)"),
        ("two", "impls/double/cpu_two.c:"),
    ):
        row = rows[f"double/cpu_{name}"]
        assert (row["verdict"], row["timing"]) == ("error", None)
        assert said in row["reason"]
    assert "error" in rows["double/cpu_broken"]["reason"]
    done = world.call("list", "variants")
    world.check(done, 0, "double/cpu_good", "double/cpu_broken")


def test_it_is_mended(world):
    world.write("cpu_good.c", variant("cpu_good", value="2 * x[i"))
    world.check(world.run_all()[0], 1)
    world.write("cpu_good.c", variant("cpu_good"))
    world.check(world.run_all()[0], 0, "1 passed")


def test_of_a_removed_variant_nothing_stays(world):
    world.write("cpu_good.c", variant("cpu_good"))
    removed = world.write("cpu_gone.c", variant("cpu_gone"))
    world.check(world.run_all()[0], 0)
    assert (world.modules / "double/cpu_gone.so").exists()
    removed.unlink()
    world.write("cpu_good.c", variant("cpu_good", summary="doubles again"))  # something is compiled
    world.check(world.run_all()[0], 0)
    assert {path.name.lstrip(".").partition(".")[0] for path in world.modules.glob("double/*")} == {"cpu_good"}


def test_only_what_is_selected_is_compiled(world):
    world.write("cpu_good.c", variant("cpu_good"))
    world.write("cpu_broken.c", "#error never read\n")
    settings = json.loads((world.modules / "settings.json").read_text()) | {"engine": "/not/built/yet.a"}
    (world.modules / "settings.json").write_text(json.dumps(settings))  # as on a first start
    done, _ = world.run_all("--variants", "cpu_good")
    world.check(done, 0, "compiling 1 variant\n", "1 passed")
    done, _ = world.run_all("--variants", "cpu_good")
    world.check(done, 0, "1 passed")
    assert "compiling" not in done.stderr, "a second time nothing is"
    assert not (world.modules / "double/cpu_broken.json").exists()
    (world.modules / "double/cpu_good.json").write_text("[]")
    world.check(world.run_all("--variants", "cpu_good")[0], 0, "compiling 1 variant\n", "1 passed")
    (world.modules / "double/cpu_good.so").unlink()
    world.check(world.run_all("--variants", "cpu_good")[0], 0, "compiling 1 variant\n", "1 passed")
    os.truncate(world.modules / "double/cpu_good.so", 0)
    world.check(world.run_all("--variants", "cpu_good")[0], 0, "compiling 1 variant\n", "1 passed")


def test_of_all_scenarios_of_a_folder_together(world):
    for name in ("one", "two"):
        world.write(f"cpu_{name}.c", variant(f"cpu_{name}"))
        suite = f"{{op: double, axes: {{n: [1003]}}, variants: [cpu_{name}]}}"
        path = world.tree / f"scenarios/both/{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'title: "{name}"\nsuites:\n  - {suite}\n')
    done, rows = world.run_all(case="both")
    world.check(done, 0, "2 passed")
    assert done.stderr.count("compiling") == done.stderr.count("compiling 2 variants\n") == 1, done.stderr


def test_what_the_build_for_the_emulator_made_is_copied(world):
    """Into that of ./rungs test; but for what is made of another file now, was made in another way, or is not what was made."""
    counter, compiled = world.folder / "counter", world.folder / "compiled"
    counter.write_text(f'#!/bin/sh\necho "$@" >>{compiled}\nexec "$@"\n')
    counter.chmod(0o755)
    settings = json.loads((world.modules / "settings.json").read_text()) | {"launcher": [str(counter)]}
    for name in ("cpu_same", "cpu_changed", "cpu_spoilt"):
        world.write(f"{name}.c", variant(name))

    def make(build, **more):
        modules = world.folder / build / "modules"
        modules.mkdir(parents=True, exist_ok=True)
        (modules / "settings.json").write_text(json.dumps(settings | {"build": str(world.folder / build)} | more))
        compiled.write_text("")
        subprocess.run([sys.executable, SOURCE / "cmake/modules.py", modules, "--all", "native"], check=True)
        made = {path.stem: path.read_bytes() for path in modules.glob("double/*.so")}
        told = {path.stem: json.loads(path.read_text()) for path in modules.glob("double/*.json")}
        return made, told, {word for word in ("same", "changed", "spoilt") if f"cpu_{word}.c" in compiled.read_text()}

    first, told, found = make("build")
    assert found == {"same", "changed", "spoilt"}
    world.write("cpu_changed.c", variant("cpu_changed", value="x[i] + x[i]"))
    (world.modules / "double/cpu_spoilt.so").write_bytes(first["cpu_spoilt"][:-1] + b"?")
    made, copy, found = make("build-tests")
    assert found == {"changed", "spoilt"} and made["cpu_same"] == first["cpu_same"]
    assert all(copy["cpu_same"][key] == told["cpu_same"][key] for key in ("variant", "code", "module"))
    assert make("build-tests", link=[*settings["link"], "-O1"])[2] == {"same", "changed", "spoilt"}


def test_an_endless_compile(world):
    world.write("cpu_good.c", variant("cpu_good"))
    world.write("cpu_endless.c", f'#include "{world.folder}/pipe"\n' + variant("cpu_endless"))
    os.mkfifo(world.folder / "pipe")
    done, rows = world.run_all(RUNGS_COMPILE_SECONDS="5")
    world.check(done, 1, "1 passed", "1 error")
    assert "did not end within 5 s" in rows["double/cpu_endless"]["reason"]
    assert not (world.modules / "double/cpu_endless.so").exists()


def compilers_of(world):
    """Processes with a file of its temporary folder among their words."""
    place = str(world.modules / ".temporary").encode()
    found = []
    for words in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [words] if place in words.read_bytes() else []
    return found


def test_a_killed_compile_leaves_nothing(world):
    source = world.write("cpu_slow.c", f'#include "{world.folder}/pipe"\n' + variant("cpu_slow"))
    os.mkfifo(world.folder / "pipe")
    process = subprocess.Popen(
        [world.program, "run", CASE, *QUICK],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=world.folder,
        env=os.environ | {"RUNGS_COMPILE_SECONDS": "5"},
    )
    time.sleep(2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(world.modules.rglob("*.so")) == []
    end = time.monotonic() + 120
    while compilers_of(world) and time.monotonic() < end:
        time.sleep(0.2)
    assert not compilers_of(world), "none waits for the pipe for good"
    source.write_text(variant("cpu_slow"))
    world.check(world.run_all()[0], 0, "1 passed")
    assert list((world.modules / ".temporary").iterdir()) == [], "what the killed one left is swept"


def test_two_at_once_compile_it_once(world):
    world.write("cpu_good.c", variant("cpu_good"))
    settings = json.loads((world.modules / "settings.json").read_text())
    launcher = world.folder / "launcher"
    launcher.write_text(f'#!/bin/sh\necho "$$" >>{world.folder}/compiled\nsleep 1\nexec "$@"\n')
    launcher.chmod(0o755)
    settings["launcher"] = [str(launcher)]
    (world.modules / "settings.json").write_text(json.dumps(settings))
    both = [
        subprocess.Popen(
            [world.program, "run", CASE, *QUICK, "--out", world.folder / f"{k}.jsonl"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=world.folder,
        )
        for k in range(2)
    ]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    assert len((world.folder / "compiled").read_text().splitlines()) == 1


def launched_by(world, script):
    """Compilers are started by a shell script from now on, whose "$@" they are."""
    launcher = world.folder / "launcher"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    settings = json.loads((world.modules / "settings.json").read_text()) | {"launcher": [str(launcher)]}
    (world.modules / "settings.json").write_text(json.dumps(settings))


def what_ran(rows):
    return {(row["verdict"], row["code"]["host_hash"]) for row in rows}


def test_edited_while_it_is_compiled(world):
    """Verdict and code hash of the row belong to the text that the compiler read; the next run compiles the new text."""
    source, right, wrong = world.tree / "impls/double/cpu_it.c", variant("cpu_it"), variant("cpu_it", value="3 * x[i]")
    world.write("cpu_it.c", right)
    (before,) = what_ran(world.run_all()[1].values())
    world.write("cpu_it.c", wrong)
    (after,) = what_ran(world.run_all()[1].values())
    assert (before[0], after[0]) == ("pass", "fail") and before[1] != after[1]
    (world.folder / "wrong.c").write_text(wrong)
    world.write("cpu_it.c", right + "\n")
    launched_by(world, f'"$@" && cat {world.folder}/wrong.c >{source}')
    assert what_ran(world.run_all()[1].values()) == {before}
    launched_by(world, '"$@"')
    assert what_ran(world.run_all()[1].values()) == {after}, "what came while it was compiled is not taken for compiled"


def test_a_link_that_leads_elsewhere(world):
    """A variant, or a header, that is a link is compiled anew when the link leads to another file."""
    for name, text in (("right", "#define TIMES 2\n"), ("wrong", "#define TIMES 3\n")):
        (world.folder / f"{name}.h").write_text(text)
        (world.folder / f"{name}.c").write_text(variant("cpu_it", value=f"{2 if name == 'right' else 3} * x[i]"))
    source, header = world.tree / "impls/double/cpu_it.c", world.tree / "impls/double/_times.h"
    world.write("cpu_other.c", variant("cpu_other", above='#include "_times.h"', value="TIMES * x[i]"))
    for target, verdict in (("right", "pass"), ("wrong", "fail"), ("right", "pass")):
        for link, ending in ((source, "c"), (header, "h")):
            link.unlink(missing_ok=True)
            link.symlink_to(world.folder / f"{target}.{ending}")
        assert {name: row["verdict"] for name, row in world.run_all()[1].items()} == {
            "double/cpu_it": verdict,
            "double/cpu_other": verdict,
        }


def test_edited_while_a_run_uses_it(world):
    """Another run compiles it anew meanwhile: no row has the code hash of one text and the verdict of the other."""
    wait = world.folder / "wait"
    above = '#include <unistd.h>\nstatic double held(long n) { while (n == 1004 && access("%s", F_OK) == 0) usleep(10000); return 0; }'
    texts = [
        variant(
            "cpu_it", value=f"(i == 0 ? held((long)array_count(&args->out[0])) : 0) + {k} * x[i]", above=above % wait
        )
        for k in (2, 3)
    ]
    expected = set()
    for text in reversed(texts):
        world.write("cpu_it.c", text)
        expected |= what_ran(world.run_all("--verify-only")[1].values())
    assert {verdict for verdict, _ in expected} == {"pass", "fail"} and len({code for _, code in expected}) == 2
    out, cases = world.folder / "first.jsonl", [f"double n={n} dtype=f64" for n in (1003, 1004, 1005)]
    words = [world.program, "run", *cases, "--verify-only", "--fresh-workers", "--out", out]
    wait.touch()
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=world.folder)
    while first.poll() is None and not (out.exists() and rows_of(out)):
        time.sleep(0.02)
    world.write("cpu_it.c", texts[1])
    assert what_ran(world.run_all("--verify-only")[1].values()) <= expected
    assert first.poll() is None, "it still runs: the second row waits"
    wait.unlink()
    first.wait(timeout=120)
    rows = rows_of(out)
    assert what_ran(row for row in rows if row["verdict"] != "error") <= expected
    assert rows[0]["verdict"] == "pass" and rows[-1]["verdict"] == "error"
    assert "has been compiled anew since this run began" in rows[-1]["reason"]


@pytest.mark.parametrize("world", ["a folder with blanks"], indirect=True)
def test_in_paths_with_blanks(world):
    """Checkout, build, a file from elsewhere, rows."""
    mine = world.folder / "my idea.c"
    world.write("cpu_it.c", variant("cpu_it"))
    mine.write_text(variant("cpu_mine"))
    world.check(world.run_all()[0], 0, "1 passed")
    world.check(world.call("try", mine, "--op", "double", CASE.removeprefix("double "), "--quick"), 0, "2 passed")
    world.check(world.call("report", world.folder / "rows.jsonl", "--out", world.folder / "a page/REPORT.md"), 0)


@pytest.mark.skipif(not CUDA, reason="no CUDA variants in this build")
@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has a GPU")
def test_no_emulator_and_no_gpu(world):
    (world.program.parent / "rungs-emulator").unlink(missing_ok=True)
    settings = json.loads((world.modules / "settings.json").read_text())
    without = {name: value for name, value in settings.items() if name not in ("asan", "race", "memory", "engine")}
    (world.modules / "settings.json").write_text(json.dumps(without | {"emulated": False}))
    world.write("cpu_it.c", variant("cpu_it"))
    world.write("cuda_it.cu", (SOURCE / "impls/double/cuda_naive.cu").read_text().replace("cuda_naive", "cuda_it"))
    done, rows = world.run_all()
    world.check(done, 0, "1 passed", "1 skipped")
    assert rows["double/cpu_it"]["verdict"] == "pass"
    assert rows["double/cuda_it"]["verdict"] == "skip" and rows["double/cuda_it"]["timing"] is None
    assert rows["double/cuda_it"]["reason"] == "this build of rungs has no emulator"


def test_of_other_contract_headers(world):
    """One that is as new as its sources says, all the same, what it was compiled with."""
    world.write("cpu_good.c", variant("cpu_good"))
    world.check(world.run_all()[0], 0)
    module = world.modules / "double/cpu_good.so"
    sys.path.insert(0, str(SOURCE / "cmake"))
    import modules

    found = modules.contract_hash(SOURCE / "harness").encode()
    data = module.read_bytes()
    assert data.count(found) == 1, "the module has the hash of the headers"
    module.write_bytes(data.replace(found, b"0123456789abcdef"))
    done, rows = world.run_all()
    world.check(done, 1)
    assert "was compiled with other headers of the contract (0123456789abcdef)" in rows["double/cpu_good"]["reason"]


def test_names(world):
    """A file that no name fits is told, and the others run."""
    world.write("cpu_good.c", variant("cpu_good"))
    for path, text in (
        ("double/openmp.c", "the build ignores this name; rename it to cpu_openmp.c"),
        ("double/tile.cu", "the build ignores this name; rename it to cuda_tile.cu"),
        ("double/numpy.py", "the build ignores this name; rename it to peer_numpy.py"),
        (
            "double/cpu_fast.cu",
            "cpu_* ends in .c, .cu begins with cuda_: rename it to cpu_fast.c or to cuda_fast.cu",
        ),
        ("double/tile.cuh", "rename it to _tile.cuh"),
        ("double/cpu_fast.cc", "not a variant; expected cpu_NAME.c, cuda_NAME.cu, peer_NAME.py"),
        ("double/Cpu-fast.c", "the build ignores this name"),
        ("cpu_fast.c", "a variant lies in the folder of its op: move it to impls/OP/cpu_fast.c"),
        (
            "dubble/cpu_loop.c",
            "unknown op 'dubble'; did you mean 'double'?",
        ),
        ("common/gather.cuh", None),
        ("double/_shared.h", None),
        ("double/.cpu_loop.c.swp", None),
        ("double/cpu_loop.c~", None),
    ):
        file = world.tree / "impls" / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
        done = world.call("run", CASE, *QUICK, "--variants", "cpu_good")
        world.check(done, 0, *([text] if text else []))
        told = [line for line in done.stderr.splitlines() if line.startswith("impls/")]
        assert len(told) == (1 if text else 0), done.stderr
        file.unlink()
        if file.parent.name == "dubble":
            file.parent.rmdir()


def test_a_build_folder_that_takes_no_files(world):
    """As where it is read-only or full: one line says so, and nothing has run."""
    world.write("cpu_good.c", variant("cpu_good"))
    (world.modules / "double").write_text("")
    done, rows = world.run_all()
    world.check(done, 4, f"variants cannot be compiled: {world.modules}/double: File exists")
    assert not any(row["kind"] == "row" for row in rows.values()) and "Traceback" not in done.stderr


def test_what_is_no_file(world):
    """A pipe is told instead of being waited for; so is a link that leads nowhere."""
    world.write("cpu_good.c", variant("cpu_good"))
    pipe, link = world.tree / "impls/double/cpu_pipe.c", world.tree / "impls/double/cpu_link.c"
    os.mkfifo(pipe)
    link.symlink_to("/nowhere.c")
    done, rows = world.run_all()
    told = "a variant is a file; this is a pipe, a device or a link that leads nowhere"
    world.check(done, 0, "1 passed", f"impls/double/cpu_pipe.c: {told}", f"impls/double/cpu_link.c: {told}")
    assert list(rows) == ["double/cpu_good"]
    world.check(world.call("try", pipe, "--op", "double"), 2, f"cpu_pipe.c: {told}")


# What nothing of the program may notice: name, what the file defines.
INTRUDERS = {
    "constructor": "#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void early(void) {{ FILE *f = "
    'fopen("{mark}", "a"); fprintf(f, "%d\\n", (int)getpid()); fclose(f); }}\n',
    "destructor": "#include <unistd.h>\n__attribute__((destructor)) static void late(void) {{ _exit(0); }}\n",
    "harness_names": "#include <stddef.h>\nint norms_compare(void); int norms_compare(void) {{ return 0; }}\n"
    "int norms_explain(void); int norms_explain(void) {{ return 0; }}\nint outputs_check(void); int outputs_check(void) {{ return 0; }}\n"
    "int buffer_check_guards(void); int buffer_check_guards(void) {{ return 0; }}\n",
    "libc": "#include <stddef.h>\nint memcmp(const void *a, const void *b, size_t n) {{ (void)a, (void)b, (void)n; return 0; }}\n"
    "double fabs(double x) {{ (void)x; return 0; }}\nchar *getenv(const char *x) {{ (void)x; return NULL; }}\n",
    "weak": "#include <stddef.h>\n__attribute__((weak)) int norms_compare(void); int norms_compare(void) {{ return 0; }}\n"
    '__attribute__((weak, visibility("default"))) int exact_compare(void); int exact_compare(void) {{ return 0; }}\n',
    "ifunc": "static int zero(void) {{ return 0; }}\nstatic int (*choose(void))(void) {{ return zero; }}\n"
    'int norms_compare(void) __attribute__((ifunc("choose"), visibility("default")));\n',
}


# A wrong result is found, and a right one passes, whatever else the file defines; and the parent runs none of it.


def test_intruders(world):
    for name, above in INTRUDERS.items():
        mark = "/dev/null"
        above = '#pragma GCC diagnostic ignored "-Wmissing-prototypes"\n' + above.format(mark=mark)
        world.write(f"cpu_right_{name}.c", variant(f"cpu_right_{name}", above=above))
        world.write(f"cpu_wrong_{name}.c", variant(f"cpu_wrong_{name}", above=above, value="0 * x[i]"))
    done, rows = world.run_all()
    for name in INTRUDERS:
        right, wrong = rows[f"double/cpu_right_{name}"], rows[f"double/cpu_wrong_{name}"]
        assert right["verdict"] == "pass", right["reason"]
        assert (wrong["verdict"], wrong["timing"]) == ("fail", None), wrong["reason"]
    assert done.returncode == 1


def test_the_parent_maps_none(world):
    """Its constructor notes every process that it runs in: none of them is the program that was called."""
    mark = pathlib.Path("/dev/shm") / world.folder.name  # a worker may write there
    world.write("cpu_good.c", variant("cpu_good", above=INTRUDERS["constructor"].format(mark=mark)))
    process = subprocess.Popen([world.program, "run", CASE, *QUICK], cwd=world.folder, stdout=subprocess.DEVNULL)
    assert process.wait(timeout=120) == 0
    found = {int(line) for line in mark.read_text().split()}
    mark.unlink()
    assert found
    assert process.pid not in found


def test_one_export(world):
    world.write("cpu_good.c", variant("cpu_good", above=INTRUDERS["weak"].format()))
    world.check(world.run_all()[0], 0)
    done = subprocess.run(
        ["nm", "-D", "--defined-only", world.modules / "double/cpu_good.so"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["rungs_module"]


def test_a_module_that_crashes_as_it_is_loaded(world):
    world.write("cpu_good.c", variant("cpu_good"))
    for name, body in (("crash", "__builtin_trap();"), ("exit", "_exit(0);"), ("hang", "for (;;) pause();")):
        above = f"#include <unistd.h>\n__attribute__((constructor)) static void early(void) {{ {body} }}\n"
        world.write(f"cpu_{name}.c", variant(f"cpu_{name}", above=above))
    done, rows = world.run_all()
    world.check(done, 1, "1 passed", "3 errors")
    for name, said in (
        ("crash", "ended by a signal"),
        ("exit", "ended the process"),
        ("hang", "did not end within 20 s"),
    ):
        assert (
            "cannot be loaded" in rows[f"double/cpu_{name}"]["reason"] and said in rows[f"double/cpu_{name}"]["reason"]
        )


# `rungs try FILE --op OP`: a file from anywhere.


def test_a_file_beside_the_ladder(world):
    world.write("cpu_loop.c", variant("cpu_loop"))
    mine = world.folder / "My-Idea.c"
    world.write("_times.h", "#define TIMES 2\n")
    mine.write_text(
        variant("cpu_mine", above='#include "_times.h"', value="TIMES * x[i]")
    )  # as a copy of one of the op's
    rows = world.folder / "rows.jsonl"
    done = world.call("try", mine, "--op", "double", "n=1003 dtype=f64", "--quick", "--out", rows)
    world.check(done, 0, "double/try_my_idea", "double/cpu_loop")
    found = {row["variant"]: row["verdict"] for row in rows_of(rows)}
    assert found == {"double/try_my_idea": "pass", "double/cpu_loop": "pass"}
    mine.write_text(variant("cpu_mine", value="3 * x[i]"))
    again = world.call("try", mine, "--op", "double", "n=1003", "--variants", "try_*", "--quick", "--out", rows)
    world.check(again, 1, "1 failed")
    assert [row["verdict"] for row in rows_of(rows)] == ["pass", "pass", "fail"]  # the file is read again, and added to


def test_what_is_wrong_is_told(world):
    mine = world.folder / "mine.c"
    mine.write_text("nonsense\n")
    world.check(world.call("try", mine, "--op", "double"), 1, "mine.c:1:1: error")
    world.check(world.call("try", mine), 2, "--op NAME is missing")
    world.check(world.call("try", mine, "--op", "dubble"), 2, "did you mean 'double'?")
    world.check(world.call("try", world.folder / "absent.c", "--op", "double"), 2, "absent.c")
    (world.folder / "mine.py").write_text("")
    world.check(world.call("try", world.folder / "mine.py", "--op", "double"), 1, "no VARIANT dictionary")
    world.check(world.call("try", world.folder / "mine.txt", "--op", "double"), 2, "mine.txt")


@pytest.mark.skipif(not (CUDA and EMULATOR), reason="no CUDA variants in this build")
def test_a_kernel(world):
    mine = world.folder / "mine.cu"
    mine.write_text((SOURCE / "impls/double/cuda_naive.cu").read_text())
    world.check(
        world.call("try", mine, "--op", "double", "n=1003", "--variants", "try_*", "--emulate", "--quick"),
        0,
        "double/try_mine",
        "1 passed",
    )


@pytest.mark.skipif(not FULL, reason="minutes of compiling: ./rungs test --full")
def test_a_checkout_and_a_build_in_paths_with_blanks(folder):
    """From its sources, for the CPU alone: no toolkit, no emulator."""
    tree, build = folder / "my checkout", folder / "my build"
    words = ["-DRUNGS_CUDA=OFF", "-DRUNGS_EMULATOR=OFF", "-DCMAKE_BUILD_TYPE=Release", "-GNinja"]
    for command in (
        ["git", "clone", "-q", SOURCE, tree],
        ["cmake", "-S", tree, "-B", build, *words],
        ["ninja", "-C", build, "rungs"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    out = folder / "my rows.jsonl"
    words = ["run", CASE, *QUICK, "--out", out]
    done = subprocess.run([build / "bin/rungs", *words], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    rows = {row["variant"]: row for row in rows_of(out)}
    assert rows["double/cpu_loop"]["verdict"] == "pass" and rows["double/cpu_loop"]["timing"]["cold"]["median"] > 0
    assert {row["verdict"] for name, row in rows.items() if "/cuda_" in name} <= {"skip"}
