"""Variants as modules: what a file in impls/ can do to the program, and what the program makes of it. The real program and the real compiler, on a
folder of variants of the test's own."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from program import BUILD, CUDA, EMULATOR, RUNGS, SANITIZED, SOURCE, rows_of

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


class World(unittest.TestCase):
    """A program that lies beside modules and variants of its own; its compilers and its harness are the build's."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name).resolve()
        self.tree, self.modules = self.folder / "tree", self.folder / "build/modules"
        self.program = self.folder / "build/bin/rungs"
        for folder in (self.tree / "impls/double", self.tree / "scenarios", self.modules, self.program.parent):
            folder.mkdir(parents=True)
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
        self.assertEqual(done.returncode, code, told)
        for words in said:
            self.assertIn(words, done.stdout + done.stderr, told)


class Broken(World):
    """One that has no module costs its own row."""

    def test_beside_a_good_one(self):
        self.write("cpu_good.c", variant("cpu_good"))
        self.write("cpu_broken.c", variant("cpu_broken", value="2 * x[i"))
        self.write("cpu_unlinked.c", variant("cpu_unlinked", above="double nowhere(double);", value="nowhere(x[i])"))
        self.write("cpu_other.c", variant("cpu_another"))
        self.write("cpu_none.c", "int nothing;\n")
        self.write("cpu_two.c", variant("cpu_two") + variant("cpu_three").split("\n", 1)[1])
        done, rows = self.run_all()
        self.check(done, 1, "1 passed", "5 errors")
        self.assertEqual(rows["double/cpu_good"]["verdict"], "pass")
        for name, said in (
            ("broken", "impls/double/cpu_broken.c:6:"),
            ("unlinked", "undefined symbol: nowhere"),
            (
                "other",
                "the descriptor is RUNGS_VARIANT(double, cpu_another), the path requires RUNGS_VARIANT(double, cpu_other)",
            ),
            ("none", "no descriptor; end the file with RUNGS_VARIANT(double, cpu_none)"),
            ("two", "impls/double/cpu_two.c:"),
        ):
            row = rows[f"double/cpu_{name}"]
            self.assertEqual((row["verdict"], row["timing"]), ("error", None))
            self.assertIn(said, row["reason"])
        self.assertIn("error", rows["double/cpu_broken"]["reason"])
        done = self.call("list", "variants")
        self.check(done, 0, "double/cpu_good", "double/cpu_broken")

    def test_it_is_mended(self):
        self.write("cpu_good.c", variant("cpu_good", value="2 * x[i"))
        self.check(self.run_all()[0], 1)
        self.write("cpu_good.c", variant("cpu_good"))
        self.check(self.run_all()[0], 0, "1 passed")

    def test_only_what_is_selected_is_compiled(self):
        self.write("cpu_good.c", variant("cpu_good"))
        self.write("cpu_broken.c", "#error never read\n")
        settings = json.loads((self.modules / "settings.json").read_text()) | {"engine": "/not/built/yet.a"}
        (self.modules / "settings.json").write_text(json.dumps(settings))  # as on a first start
        done, _ = self.run_all("--variants", "cpu_good")
        self.check(done, 0, "compiling 1 variant\n", "1 passed")
        done, _ = self.run_all("--variants", "cpu_good")
        self.check(done, 0, "1 passed")
        self.assertNotIn("compiling", done.stderr, "a second time nothing is")
        self.assertFalse((self.modules / "double/cpu_broken.json").exists())
        (self.modules / "double/cpu_good.so").unlink()
        self.check(self.run_all("--variants", "cpu_good")[0], 0, "compiling 1 variant\n", "1 passed")

    def test_an_endless_compile(self):
        self.write("cpu_good.c", variant("cpu_good"))
        self.write("cpu_endless.c", f'#include "{self.folder}/pipe"\n' + variant("cpu_endless"))
        os.mkfifo(self.folder / "pipe")
        done, rows = self.run_all(RUNGS_COMPILE_SECONDS="5")
        self.check(done, 1, "1 passed", "1 error")
        self.assertIn("did not end within 5 s", rows["double/cpu_endless"]["reason"])
        self.assertFalse((self.modules / "double/cpu_endless.so").exists())

    def test_a_killed_compile_leaves_nothing(self):
        source = self.write("cpu_slow.c", f'#include "{self.folder}/pipe"\n' + variant("cpu_slow"))
        os.mkfifo(self.folder / "pipe")
        process = subprocess.Popen(
            [self.program, "run", CASE, *QUICK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder
        )
        time.sleep(2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(list(self.modules.rglob("*.so")), [])
        source.write_text(variant("cpu_slow"))
        self.check(self.run_all()[0], 0, "1 passed")
        self.assertEqual(list((self.modules / ".temporary").iterdir()), [], "what the killed one left is swept")

    def test_two_at_once_compile_it_once(self):
        self.write("cpu_good.c", variant("cpu_good"))
        settings = json.loads((self.modules / "settings.json").read_text())
        launcher = self.folder / "launcher"
        launcher.write_text(f'#!/bin/sh\necho "$$" >>{self.folder}/compiled\nsleep 1\nexec "$@"\n')
        launcher.chmod(0o755)
        settings["launcher"] = [str(launcher)]
        (self.modules / "settings.json").write_text(json.dumps(settings))
        both = [
            subprocess.Popen(
                [self.program, "run", CASE, *QUICK, "--out", self.folder / f"{k}.jsonl"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.folder,
            )
            for k in range(2)
        ]
        self.assertEqual([process.wait(timeout=120) for process in both], [0, 0])
        self.assertEqual(len((self.folder / "compiled").read_text().splitlines()), 1)

    def test_of_other_contract_headers(self):
        """One that is as new as its sources says, all the same, what it was compiled with."""
        self.write("cpu_good.c", variant("cpu_good"))
        self.check(self.run_all()[0], 0)
        module = self.modules / "double/cpu_good.so"
        sys.path.insert(0, str(SOURCE / "cmake"))
        import modules

        found = modules.contract_hash(SOURCE / "harness").encode()
        data = module.read_bytes()
        self.assertEqual(data.count(found), 1, "the module has the hash of the headers")
        module.write_bytes(data.replace(found, b"0123456789abcdef"))
        done, rows = self.run_all()
        self.check(done, 1)
        self.assertIn(
            "was compiled with other headers of the contract (0123456789abcdef)", rows["double/cpu_good"]["reason"]
        )

    def test_names(self):
        """A file that no name fits is told, and the others run."""
        self.write("cpu_good.c", variant("cpu_good"))
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
                "no op 'dubble' (did you mean double?): rename the folder, or write reference/dubble.c",
            ),
            ("common/gather.cuh", None),
            ("double/_shared.h", None),
            ("double/.cpu_loop.c.swp", None),
            ("double/cpu_loop.c~", None),
        ):
            file = self.tree / "impls" / path
            file.parent.mkdir(exist_ok=True)
            file.write_text("")
            done = self.call("run", CASE, *QUICK, "--variants", "cpu_good")
            self.check(done, 0, *([text] if text else []))
            told = [line for line in done.stderr.splitlines() if line.startswith("impls/")]
            self.assertEqual(len(told), 1 if text else 0, done.stderr)
            file.unlink()
            if file.parent.name == "dubble":
                file.parent.rmdir()


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


class Isolated(World):
    """A wrong result is found, and a right one passes, whatever else the file defines; and the parent runs none of it."""

    def test_intruders(self):
        for name, above in INTRUDERS.items():
            mark = self.folder / f"{name}.mark"
            above = '#pragma GCC diagnostic ignored "-Wmissing-prototypes"\n' + above.format(mark=mark)
            self.write(f"cpu_right_{name}.c", variant(f"cpu_right_{name}", above=above))
            self.write(f"cpu_wrong_{name}.c", variant(f"cpu_wrong_{name}", above=above, value="0 * x[i]"))
        done, rows = self.run_all()
        for name in INTRUDERS:
            right, wrong = rows[f"double/cpu_right_{name}"], rows[f"double/cpu_wrong_{name}"]
            self.assertEqual(right["verdict"], "pass", right["reason"])
            self.assertEqual((wrong["verdict"], wrong["timing"]), ("fail", None), wrong["reason"])
        self.assertEqual(done.returncode, 1)

    def test_the_parent_maps_none(self):
        """Its constructor notes every process that it runs in: none of them is the program that was called."""
        mark = self.folder / "mark"
        self.write("cpu_good.c", variant("cpu_good", above=INTRUDERS["constructor"].format(mark=mark)))
        process = subprocess.Popen([self.program, "run", CASE, *QUICK], cwd=self.folder, stdout=subprocess.DEVNULL)
        self.assertEqual(process.wait(timeout=120), 0)
        found = {int(line) for line in mark.read_text().split()}
        self.assertTrue(found)
        self.assertNotIn(process.pid, found)

    def test_one_export(self):
        self.write("cpu_good.c", variant("cpu_good", above=INTRUDERS["weak"].format()))
        self.check(self.run_all()[0], 0)
        done = subprocess.run(
            ["nm", "-D", "--defined-only", self.modules / "double/cpu_good.so"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual([line.split()[-1] for line in done.stdout.splitlines()], ["rungs_module"])

    def test_a_module_that_crashes_as_it_is_loaded(self):
        self.write("cpu_good.c", variant("cpu_good"))
        for name, body in (("crash", "__builtin_trap();"), ("exit", "_exit(0);"), ("hang", "for (;;) pause();")):
            above = f"#include <unistd.h>\n__attribute__((constructor)) static void early(void) {{ {body} }}\n"
            self.write(f"cpu_{name}.c", variant(f"cpu_{name}", above=above))
        done, rows = self.run_all()
        self.check(done, 1, "1 passed", "3 errors")
        for name in ("crash", "exit", "hang"):
            self.assertIn("cannot be loaded", rows[f"double/cpu_{name}"]["reason"])


class Try(World):
    """`rungs try FILE --op OP`: a file from anywhere."""

    def test_a_file_beside_the_ladder(self):
        self.write("cpu_loop.c", variant("cpu_loop"))
        mine = self.folder / "My-Idea.c"
        mine.write_text(variant("cpu_mine"))
        rows = self.folder / "rows.jsonl"
        done = self.call("try", mine, "--op", "double", "n=1003 dtype=f64", "--quick", "--out", rows)
        self.check(done, 0, "double/try_my_idea", "double/cpu_loop")
        found = {row["variant"]: row["verdict"] for row in rows_of(rows)}
        self.assertEqual(found, {"double/try_my_idea": "pass", "double/cpu_loop": "pass"})
        mine.write_text(variant("cpu_mine", value="3 * x[i]"))
        self.check(self.call("try", mine, "--op", "double", "n=1003", "--variants", "try_*", "--quick"), 1, "1 failed")

    def test_what_is_wrong_is_told(self):
        mine = self.folder / "mine.c"
        mine.write_text("nonsense\n")
        self.check(self.call("try", mine, "--op", "double"), 1, "mine.c:1:1: error")
        self.check(self.call("try", mine), 2, "--op NAME is missing")
        self.check(self.call("try", mine, "--op", "dubble"), 2, "did you mean 'double'?")
        self.check(self.call("try", self.folder / "absent.c", "--op", "double"), 2, "absent.c")
        (self.folder / "mine.py").write_text("")
        self.check(self.call("try", self.folder / "mine.py", "--op", "double"), 2, "ends in .c or .cu")

    @unittest.skipUnless(CUDA and EMULATOR, "no CUDA variants in this build")
    def test_a_kernel(self):
        mine = self.folder / "mine.cu"
        mine.write_text((SOURCE / "impls/double/cuda_naive.cu").read_text())
        self.check(
            self.call("try", mine, "--op", "double", "n=1003", "--variants", "try_*", "--emulate", "--quick"),
            0,
            "double/try_mine",
            "1 passed",
        )


if __name__ == "__main__":
    if SANITIZED:
        print("a sanitizer's program loads no module that was compiled without it")
        sys.exit(77)
    unittest.main()
