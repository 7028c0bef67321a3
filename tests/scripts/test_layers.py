"""The layers of docs/DESIGN.md, checked: who includes whom, who prints and exits, who writes files, and that readers of rows and program
never run each other. Every rule is first shown to find a planted violation, so that a rule that finds nothing says something."""

import ast
import os
import pathlib
import re
import tempfile

import pytest

SOURCE = pathlib.Path(os.environ.get("RUNGS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
CODE = {".c", ".h", ".cu", ".cuh", ".cc", ".inc"}

CONTRACTS = ("harness/op.h", "harness/python_op.h", "harness/variant.h", "harness/kernel.h", "harness/protocol.h")
# The longest folder that a file lies in decides; what it may include: files, or folders ending in '/'.
MAY_INCLUDE = {
    "harness/": ("harness/",),  # main.c
    "harness/cli/": ("harness/",),
    "harness/pipeline/": (
        *(f"harness/{module}/" for module in ("base", "plan", "device", "verify", "measure", "record", "pipeline")),
        *CONTRACTS,
    ),
    "harness/worker/": (
        *(f"harness/{module}/" for module in ("base", "plan", "device", "measure", "record", "worker")),
        *CONTRACTS,
    ),
    "harness/base/": ("harness/base/",),
    "harness/plan/": (
        "harness/base/",
        *CONTRACTS,
        "harness/plan/",
        "harness/verify/families.h",
        "harness/record/row.h",
    ),
    "harness/device/": ("harness/base/", *CONTRACTS, "harness/device/"),
    "harness/verify/": ("harness/base/", *CONTRACTS, "harness/verify/"),
    "harness/measure/": ("harness/base/", *CONTRACTS, "harness/measure/"),
    "harness/record/": (
        *(f"harness/{name}" for name in ("base/", "record/", "measure/counts.h", "measure/limit.h")),
        *(f"harness/verify/{name}.h" for name in ("exact", "norms")),  # what a row holds of them
        *CONTRACTS,
    ),
    "impls/": ("harness/variant.h", "harness/kernel.h", "harness/base/", "impls/common/"),
    "reference/": ("harness/op.h", "harness/base/", "reference/"),
    "emulator/": ("harness/base/", *CONTRACTS, "harness/device/", "emulator/"),
}
# Files with rules of their own, and why.
MAY_ALSO_INCLUDE = {
    "harness/op.h": ("harness/base/",),
    "harness/python_op.h": ("harness/op.h",),
    "harness/variant.h": ("harness/base/",),
    "harness/kernel.h": ("harness/base/", "emulator/cuda.h"),
    "harness/base/refuse.c": ("harness/variant.h",),  # variant_refuse(), declared in the contract
    "emulator/main.c": ("harness/worker/worker.h",),  # the main of another program with the same worker
}
WITHOUT_A_KERNEL = (
    "impls/discounted_cumsum/cuda_cub_scan.cu",
    "impls/discounted_cumsum/cuda_cub_sum.cu",
    "impls/discounted_cumsum_grad/cuda_cub_scan.cu",
    "impls/ewm/cuda_cub_scan.cu",
    "impls/moments/cuda_cub_segmented_reduce.cu",
)  # one call of CUB
INCLUDE_FOLDERS = ("harness", "impls", "")

PRINTS = re.compile(
    r"(?<![\w.>])(printf|puts|putchar|vprintf|fprintf|vfprintf|fputs|perror|exit|_exit|_Exit|quick_exit|abort)\s*\("
)
MAY_PRINT = {
    "harness/main.c": "the program",
    "harness/cli/": "the program's words for people",
    "harness/worker/worker.c": "started by hand it says how it is meant to be started",
    "harness/base/params.c": "a parameter that was never declared is a bug of the code that asks for it: abort",
    "harness/base/process.c": "_exit of the processes that it forks",
    "harness/pipeline/devices.c": "_exit of the processes that it forks",
    "harness/pipeline/devices_alone.c": "likewise",
    "harness/device/descendants.c": "_exit of the process that it forks",
    "harness/device/cpu.c": "_exit of the child that tries to start threads",
    "harness/device/spawn.c": "_exit after a failed exec in the child",
    "harness/measure/kept.c": "_exit where a library has replaced functions: nothing runs behind the reply",
    "emulator/": "a program of its own; a fault ends its process at once",
}
WRITES = re.compile(r'fopen\s*\([^;]*"[wa]|O_CREAT|\bmkstemp\w*\s*\(|\bcreat\s*\(|fdopen\s*\([^;]*"[wa]')
MAY_WRITE = {
    "harness/record/": "rows and the environment: the results",
    "harness/base/output.c": "files that the user names for results",
    "harness/base/usercode.c": "what it hands to the compiler",
    "harness/base/process.c": "what a process printed",
    "harness/base/temporary.c": "files without a name",
    "harness/worker/worker.c": "the pipe of its replies",
    "harness/device/shared.c": "shared memory",
    "emulator/": "a program of its own, for its own process",
}
# Python: which of our own modules a module may import. The readers of rows are packages; what is in no package is imported by its name alone.
SHARED = tuple(
    f"analysis/{name}.py"
    for name in (
        "rows",
        "lines",
        "select",
        "format",
        "statistics",
        "claim_text",
        "published",
        "arguments",
        "inputs",
        "output",
        "foreign",
        "row_check",
        "joined",
        "why",
    )
)
MAY_IMPORT = {
    "harness/device/": ("harness/device/",),
    "harness/verify/": ("harness/verify/",),
    "impls/": ("harness/device/peer.py", "impls/common/"),
    "cmake/": ("cmake/", "harness/device/peer.py"),  # which reads what a peer says of itself
    "analysis/": SHARED,
    "plots/": ("plots/", *SHARED),
    "analysis/report/": ("analysis/report/", "analysis/history/", "plots/", *SHARED),
    "analysis/history/": ("analysis/history/", "plots/", *SHARED),
    "analysis/compare/": ("analysis/compare/", "analysis/junit.py", *SHARED),
    "analysis/export/": ("analysis/export/", "analysis/junit.py", *SHARED),
}
ANY = "the builds of ab and calibrate"
MAY_START = {
    "plots/figures_sweep.py": "gnuplot",
    "analysis/compare/builds.py": ANY,
}
READERS = ("analysis", "plots")  # they know rows and nothing else


def governing(rules, path):
    """The most specific entry for a path: the file itself, or the longest folder."""
    fitting = [key for key in rules if path == key or key.endswith("/") and path.startswith(key)]
    return max(fitting, key=len, default=None)


def allowed(path, patterns):
    return any(path == p or p.endswith(("/", "/_")) and path.startswith(p) for p in patterns)


def without_comments(text):
    """Comments blanked, strings kept, line numbers kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
    return pattern.sub(lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), text)


def without_strings(text):
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def files(root, folders, endings):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in endings and path.is_file():
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def resolve(root, includer, name):
    """The repository's file that an #include names, or None."""
    for folder in (pathlib.PurePosixPath(includer).parent.as_posix(), *INCLUDE_FOLDERS):
        path = os.path.normpath(os.path.join(folder, name))
        if (root / path).is_file():
            return path
    return None


def includes_of(root, path, text):
    """(line, file) of each include that is a file of the repository."""
    for i, line in enumerate(without_comments(text).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
        target = match and resolve(root, path, match.group(1))
        if target:
            yield i, target


def circle_faults(root):
    """No file includes itself, by whatever way."""
    graph = {
        path: [target for _, target in includes_of(root, path, text)]
        for path, text in files(root, ("harness", "emulator", "impls", "reference"), CODE)
    }
    done = set()

    def walk(path, way):
        if path in way:
            yield f"{path}: includes itself: {' -> '.join([*way[way.index(path) :], path])}"
        elif path not in done:
            for target in graph.get(path, []):
                yield from walk(target, [*way, path])
            done.add(path)

    for path in graph:
        yield from walk(path, [])


def unit_faults(root):
    """x.c and x.h are one unit: no unit of the harness needs one that needs it."""
    needs = {}
    for path, text in files(root, ("harness",), CODE):
        unit = path.rsplit(".", 1)[0]
        targets = {target.rsplit(".", 1)[0] for _, target in includes_of(root, path, text)}
        needs.setdefault(unit, set()).update(targets - {unit})

    def reaches(unit):
        seen, rest = set(), [unit]
        while rest:
            new = needs.get(rest.pop(), set()) - seen
            seen |= new
            rest += new
        return seen

    reached = {unit: reaches(unit) for unit in needs}
    circles = {tuple(sorted(u for u in reached[unit] if unit in reached.get(u, ()))) for unit in needs}
    yield from (f"units in a circle: {', '.join(circle)}" for circle in sorted(circles) if circle)


def include_faults(root):
    for path, text in files(root, ("harness", "emulator", "impls", "reference"), CODE):
        layer = governing(MAY_INCLUDE, path)
        rights = MAY_INCLUDE[layer] if path not in CONTRACTS else ()
        rights += MAY_ALSO_INCLUDE.get(path, ())
        if layer == "impls/":  # what the variants of one op share
            rights += (f"{pathlib.PurePosixPath(path).parent.as_posix()}/_",)
        for i, line in enumerate(without_comments(text).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not match:
                continue
            target = resolve(root, path, match.group(2))
            if target is None and match.group(1) == '"':
                yield f'{path}:{i}: "{match.group(2)}" is no file of the repository'
            elif target is not None and not allowed(target, rights):
                yield f"{path}:{i}: {layer} may not include {target}"


def call_faults(root, pattern, table, what):
    for path, text in files(root, ("harness", "emulator", "impls", "reference"), CODE):
        if governing(table, path):
            continue
        text = without_comments(text)
        for i, line in enumerate((without_strings(text) if pattern is PRINTS else text).splitlines(), 1):
            if pattern.search(line):
                yield f"{path}:{i}: {what}: {line.strip()}"


def imported_modules(tree):
    """(line, dotted name): for `from a import b` both a.b, which may be a module, and a."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, (alias.name,)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, (f"{node.module}.{alias.name}", node.module or "")) for alias in node.names)


def modules_of(paths):
    """What a module is imported as -> its files; of those in no package more than one may have a name."""
    found = {}
    for path in map(pathlib.PurePosixPath, paths):
        packaged = path.parts[0] in READERS
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__") if packaged else path.stem
        found.setdefault(name, []).append(path.as_posix())
    return found


def python_faults(root):
    sources = list(files(root, ("harness", "impls", *READERS, "cmake"), {".py"}))
    ours, names = modules_of(path for path, _ in sources), {}
    for path, text in sources:
        tree = ast.parse(text, path)
        layer = governing(MAY_IMPORT, path)
        for line, spellings in imported_modules(tree):
            targets = next((ours[name] for name in spellings if name in ours), [])
            if targets and not any(allowed(target, MAY_IMPORT[layer]) for target in targets):
                yield f"{path}:{line}: may not import {targets[0]}"
        if path.split("/")[0] in READERS:
            yield from start_faults(path, tree)
            if "sys.path" in text:
                yield f"{path}: changes sys.path"
            yield from (
                f"{path}:{node.lineno}: a relative import"
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and node.level
            )
            name = path.rsplit("/", 1)[-1]
            if names.setdefault(name, path) != path and not name.startswith("__"):
                yield f"{path}: has the name of {names[name]}"


def start_faults(path, tree):
    """They start no program but gnuplot, git for the dates of commits, and the builds that are compared."""
    if MAY_START.get(path) == ANY:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        if owner == "subprocess" or owner == "os" and re.match(r"system|popen|exec|spawn|posix_spawn", node.func.attr):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.List) and first.elts:
                first = first.elts[0]
            program = first.value if isinstance(first, ast.Constant) else None
            if program is None or program != MAY_START.get(path):
                yield f"{path}:{node.lineno}: starts {program or 'a program'}"


def plotting_faults(root):
    for path, text in files(root, ("harness", "emulator", "impls", "reference"), CODE):
        if not path.startswith("harness/cli/") and re.search(
            rf'"[^"\n]*\b({"|".join(READERS)})[/.]', without_comments(text)
        ):
            yield f"{path}: knows the readers of rows"


def kernel_faults(root):
    """Kernels of two variants may bear one name; for templates the linker would silently keep one of them."""
    for path, text in files(root, ("impls",), (".cu", ".cuh")):
        for i, line in enumerate(without_strings(without_comments(text)).splitlines(), 1):
            if "__global__" in line and not re.search(r"\bstatic\s+__global__", line):
                yield f"{path}:{i}: a kernel that is not static: {line.strip()}"


PARAMETERS_MAX = 7
FUNCTION = re.compile(r"^[A-Za-z][\w\s*]*?\b(\w+)\(([^(){};]*)\)\s*[;{]", re.M)


def parameter_faults(root):
    for path, text in files(root, ("harness", "emulator", "reference"), {".c", ".h"}):
        text = without_comments(text)
        for match in FUNCTION.finditer(text):
            count = match.group(2).count(",") + 1
            if count > PARAMETERS_MAX:
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(1)} has {count} parameters, more than {PARAMETERS_MAX}"


TYPE = re.compile(
    r"^(?:template[^\n]*>\s*)?(?:struct|class|union)\s+(?:alignas\((?:[^()]|\([^()]*\))*\)\s+)?(\w+)[^;{]*(\{[^\n]*\}[^\n]*|\{.*?^\});",
    re.M | re.S,
)


def variant_faults(root):
    """A CUDA variant is read in its own file. Types of one name in two variants are the same type, or the linker would join their inline
    functions, which the host compiler emits once."""
    seen = {}
    for path, text in files(root, ("impls",), (".cu",)):
        text = without_comments(text)
        if "__global__" not in text and path not in WITHOUT_A_KERNEL:
            yield f"{path}: no __global__: the kernel belongs into the file of its variant"
        for match in TYPE.finditer(text):
            name, body = match.group(1), " ".join(match.group(2).split())
            owner, first = seen.setdefault(name, (path, body))
            if body != first:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {name} is another type in {owner}: one of them needs another name"


RULES = {
    "includes": include_faults,
    "circles": circle_faults,
    "units": unit_faults,
    "printing": lambda root: call_faults(root, PRINTS, MAY_PRINT, "only the program prints and exits"),
    "writing": lambda root: call_faults(root, WRITES, MAY_WRITE, "only record/ writes results"),
    "python": python_faults,
    "plotting": plotting_faults,
    "kernels": kernel_faults,
    "variants": variant_faults,
    "parameters": parameter_faults,
}


@pytest.mark.parametrize("rule", RULES)
def test_this_repository(rule):
    assert "\n".join(RULES[rule](SOURCE)) == ""


def test_every_exception_is_still_needed():
    for table in (MAY_ALSO_INCLUDE, MAY_PRINT, MAY_WRITE, MAY_START):
        for path in table:
            assert (SOURCE / path).exists(), f"{path} is excepted and does not exist"


def planted(rule, files_of, fault):
    """Each: one file with a violation, and one that looks like it and is none."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {
            "harness/op.h": "",
            "harness/variant.h": "",
            "harness/base/text.h": "",
            **files_of,
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = list(RULES[rule](root))
    if fault is None:
        assert found == []
    else:
        assert len(found) == 1, found
        assert fault in found[0]


def test_includes():
    record = {"harness/record/rowfile.h": "", "harness/verify/norms.h": "", "harness/verify/families.h": ""}
    planted(
        "includes",
        {**record, "harness/plan/a.c": '\n#include "record/rowfile.h"\n'},
        "harness/plan/a.c:2: harness/plan/ may not include",
    )
    planted(
        "includes",
        {**record, "harness/plan/a.c": '#include "verify/norms.h"\n'},
        "may not include harness/verify/norms.h",
    )
    planted(
        "includes",
        {**record, "harness/plan/a.c": '#include "verify/families.h"\n// #include "record/rowfile.h"\n'},
        None,
    )
    planted("includes", {"impls/rolling/a.c": '#include "op.h"\n'}, "impls/ may not include harness/op.h")
    planted("includes", {"reference/a.c": "#include <variant.h>\n"}, "reference/ may not include harness/variant.h")
    planted(
        "includes",
        {"impls/rolling/a.h": "", "impls/double/a.c": '#include "../rolling/a.h"\n'},
        "may not include impls/rolling/a.h",
    )
    planted("includes", {"impls/rolling/_shared.h": "", "impls/rolling/a.c": '#include "_shared.h"\n'}, None)
    planted(
        "includes",
        {"impls/rolling/_shared.h": "", "impls/double/a.c": '#include "rolling/_shared.h"\n'},
        "may not include impls/rolling/_shared.h",
    )
    planted("includes", {"harness/base/a.c": '#include "op.h"\n'}, "harness/base/ may not include harness/op.h")
    planted("includes", {"harness/pipeline/run.c": '#include "nowhere.h"\n'}, "is no file of the repository")
    planted(
        "includes",
        {**record, "harness/op.h": '#include "record/rowfile.h"\n'},
        "may not include harness/record/rowfile.h",
    )


def test_circles():
    planted(
        "circles",
        {
            "harness/plan/a.h": '#include "plan/b.h"',
            "harness/plan/b.h": '#include "base/text.h"\n#include "plan/a.h"',
        },
        "includes itself",
    )
    planted(
        "circles",
        {
            "harness/plan/a.h": '#include "plan/b.h"',
            "harness/plan/b.h": '#include "base/text.h"',
            "harness/plan/c.h": '#include "plan/b.h"',
        },
        None,
    )


def test_units():
    headers = {"harness/plan/a.h": "", "harness/plan/b.h": '#include "plan/a.h"', "harness/plan/c.h": ""}
    planted(
        "units",
        {**headers, "harness/plan/a.c": '#include "plan/c.h"', "harness/plan/c.c": '#include "plan/b.h"'},
        "units in a circle: harness/plan/a, harness/plan/b, harness/plan/c",
    )
    planted(
        "units",
        {
            **headers,
            "harness/plan/b.c": '#include "plan/b.h"\n// #include "plan/d.h"',
            "harness/plan/d.c": '#include "plan/b.h"\n#include "plan/c.h"',
        },
        None,
    )


def test_printing():
    planted("printing", {"harness/plan/a.c": 'void f(void) { printf("x"); }'}, "only the program prints and exits")
    planted("printing", {"impls/rolling/a.cu": "\n\nexit(1);"}, "impls/rolling/a.cu:3")
    planted(
        "printing",
        {
            "harness/plan/a.c": '/* exit(1) */ snprintf(t, 3, "puts(x)"); self->exit(1); on_exit (f);',
            "harness/cli/a.c": "puts(x);",
        },
        None,
    )


def test_writing():
    planted("writing", {"harness/pipeline/run.c": 'FILE *f = fopen(path, "w");'}, "only record/ writes results")
    planted("writing", {"harness/verify/a.c": "open(path, O_WRONLY | O_CREAT, 0666);"}, "harness/verify/a.c:1")
    planted(
        "writing",
        {"harness/pipeline/run.c": 'fopen(path, "rb"); // fopen(path, "w")', "harness/record/row.c": "O_CREAT"},
        None,
    )


def test_python():
    worker = {"harness/device/peer.py": "", "harness/device/peer_worker.py": "import peer"}
    package = {
        "analysis/rows.py": "",
        "analysis/report/ladder.py": "",
        "plots/style.py": "from analysis import rows",
    }
    planted(
        "python",
        {**worker, "impls/rolling/peer_a.py": "from peer import Skip\nimport peer_worker"},
        "peer_a.py:2: may not import",
    )
    planted(
        "python",
        {**worker, **package, "plots/a.py": "from analysis import rows\nimport peer"},
        "plots/a.py:2: may not import harness/device/peer.py",
    )
    planted(
        "python",
        {**worker, **package, "analysis/a.py": "import peer"},
        "analysis/a.py:1: may not import harness/device/peer.py",
    )
    planted(
        "python",
        {**package, "plots/a.py": "from analysis.report import ladder"},
        "plots/a.py:1: may not import analysis/report/ladder.py",
    )
    planted(
        "python",
        {**package, "plots/a.py": "import analysis.report.ladder"},
        "plots/a.py:1: may not import analysis/report/ladder.py",
    )
    planted(
        "python",
        {**package, "analysis/a.py": "from plots.style import colour"},
        "analysis/a.py:1: may not import plots/style.py",
    )
    planted(
        "python",
        {**package, "analysis/compare/judge.py": "", "analysis/history/a.py": "from analysis.compare import judge"},
        "may not import analysis/compare/judge.py",
    )
    for reader in ("analysis/compare", "analysis/export"):
        planted(
            "python",
            {**package, f"{reader}/a.py": "from plots import style"},
            f"{reader}/a.py:1: may not import plots/style.py",
        )
    for reader in (
        "analysis",
        "analysis/compare",
        "analysis/export",
        "analysis/history",
        "analysis/report",
        "plots",
    ):
        planted(
            "python",
            {**package, f"{reader}/a.py": "\nimport subprocess\nsubprocess.run(['./rungs', 'list'])"},
            f"{reader}/a.py:3: starts ./rungs",
        )
    planted("python", {**package, "plots/a.py": "import os\nos.system(command)"}, "starts a program")
    planted(
        "python",
        {**package, "analysis/a.py": "import sys\nsys.path.append('.')"},
        "analysis/a.py: changes sys.path",
    )
    planted(
        "python",
        {**package, "analysis/history/a.py": "from ..report import ladder"},
        "analysis/history/a.py:1: a relative import",
    )
    planted("python", {**package, "analysis/export/ladder.py": ""}, "has the name of")
    planted(
        "python",
        {
            **package,
            "plots/figures_sweep.py": "import subprocess\nsubprocess.run(['gnuplot', 'x'])\nfrom analysis import rows",
            "analysis/statistics.py": "",
            "analysis/compare/a.py": "import statistics\nfrom analysis import rows, statistics",
            "analysis/report/b.py": "from plots import style",
        },
        None,
    )


def test_kernels():
    planted(
        "kernels",
        {"impls/op/cuda_a.cu": "template <int N> __global__ void scan_kernel();"},
        "cuda_a.cu:1: a kernel that is not static",
    )
    planted("kernels", {"impls/op/cuda_a.cu": "// __global__\nstatic __global__ void scan_kernel();"}, None)


def test_variants():
    kernel = "static __global__ void f() {}\n"
    planted("variants", {"impls/op/cuda_a.cu": '#include "_shared.cuh"\n'}, "no __global__")
    state = "template <typename T> struct State {\n    T sum = 0;\n};\n"
    planted(
        "variants",
        {"impls/op/cuda_a.cu": kernel + state, "impls/op/cuda_b.cu": kernel + state.replace("sum = 0", "sum = 1")},
        "cuda_b.cu:2: State is another type in impls/op/cuda_a.cu",
    )
    planted(
        "variants",
        {
            "impls/op/cuda_a.cu": kernel + "struct B;\n" + state,
            "impls/op/cuda_b.cu": kernel + "struct B { int n; };\n" + state,
        },
        None,
    )


def test_parameters():
    planted(
        "parameters",
        {"harness/plan/a.c": "int f(int a, int b, int c, int d, int e, int f, int g, int h) {\n}\n"},
        "a.c:1: f has 8 parameters",
    )
    planted("parameters", {"harness/plan/a.c": "int f(int a, int b, int c, int d, int e, int f, int g) {\n}\n"}, None)


def test_plotting():
    for module in ("analysis.report", "analysis/report/__main__.py", "plots/sweep.py"):
        planted("plotting", {"harness/pipeline/run.c": f'const char *p = "{module}";'}, "knows the readers of rows")
    planted(
        "plotting",
        {"harness/pipeline/run.c": "/* see analysis/report/ */", "harness/cli/report.c": '"analysis.report"'},
        None,
    )
