"""`rungs try FILE.cu...` without an op: a CUDA program as it is, compiled by clang and run in the emulator.

    program.py FOLDER FILE.cu... [-I -D and other flags of nvcc] [--emulator address|race|memory|all] [--no-sandbox] [-- ARGUMENTS]

FOLDER has settings.json (cmake/modules.cmake). A file is preprocessed, what only nvcc knows is rewritten (CudaText), and the result is
compiled like a kernel of a variant. Exit code: 1 if a fault was found, 2 if the program cannot be compiled, else the program's own.
"""

import bisect
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import modules
import ptx

CXX = (".cu", ".cpp", ".cc", ".cxx", ".cuh")
PREFIXED = "-I", "-D", "-U", "-std=", "--std="  # for clang too; the other flags of nvcc mean nothing here
WITH_VALUE = "-I -D -U -std -isystem -include -Xcompiler -Xptxas -Xlinker -arch -gencode -l -L -o".split()
ROW_BYTES, ROWS_MAX = 512, 1024  # emulator/program.c
FAULT_EXIT_CODE = 86  # emulator/fault.h
CRASHES = signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL
KINDS = {"address": ["asan"], "race": ["race"], "memory": ["memory"], "all": ["asan", "race", "memory"]}
DEFAULTS = {
    "ASAN_OPTIONS": "halt_on_error=0",
    "UBSAN_OPTIONS": "halt_on_error=0:print_stacktrace=0",
    "RUNGS_EMULATOR_SCHEDULES": "6",
}
# Of what the emulators do not see: local variables.
WARNINGS = "-Wno-everything", "-Wuninitialized", "-Wsometimes-uninitialized"
SEE = "docs/EMULATOR.md says what the emulator has"
TEXTURES = re.compile(
    r"cuda(Texture|Surface)Object_t|cuda(Create|Bind)(Texture|Surface)\w*|(tex|surf)[123]D\w*|texture|surface"
)
ALLOCATES = re.compile(r"cuda(Malloc(Async|Managed|Host|Pitch)?|HostAlloc)")
PTX = re.compile(r"\s*(?:\{|\\[nt]|\s)*(?:@!?%?\w+\s+)?(?:\.reg[^;]*;(?:\\[nt]|\s)*)*([a-z]\w*(?:\.\w+)+)")
TOKEN = re.compile(
    r"""(?P<marker>^\#[^\n]*)
    |(?P<text>(?:u8|[uUL])?R"(?P<end>[^\s()\\]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)
    |<<\s*<|>>\s*>|::|->|\S""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
MARKER = re.compile(r'^# (\d+) "([^"\n]*)"([ \d]*)$', re.MULTILINE)
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
# Read as the host compiler does: CCCL, but for CUB, which has stand-ins in emulator/include; and PyTorch.
CCCL = re.compile(r"cuda/|nv/|thrust/|cub/util_|cuda_fp[468]\.h|torch/|ATen/|c10/|pybind11/")
KEYWORDS = "return", "else", "case", "do", "sizeof", "delete", "throw"  # what may stand before a variable's use
CLUSTERS = "cudaLaunchAttributeClusterDimension", "__cluster_dims__", "this_cluster"
ENUMERATORS = re.compile(  # of emulator/engine.h
    r"WARP_(SYNC|ALL|ANY|BALLOT|SHUFFLE\w*|MATCH_\w+|REDUCE_\w+)|BARRIER_(PLAIN|COUNT|AND|OR)"
    r"|ACCESS_(LOAD|STORE|UPDATE|EXCHANGE)|SCOPE_(BLOCK|DEVICE|SYSTEM)"
)
STATIC_SHARED = 'static __attribute__((used, section(".rungs_shared.program")))'


class CudaText:
    """The preprocessed text of a file. Only what comes from the user's own files is looked at; line numbers stay."""

    def __init__(self, text, own):
        self.text, self.edits = text, []
        self.markers = list(MARKER.finditer(text))
        self.starts = [marker.end() for marker in self.markers]
        self.tokens = []
        for i, marker in enumerate(self.markers):
            end = self.markers[i + 1].start() if i + 1 < len(self.markers) else len(text)
            if "3" not in marker[3] and not marker[2].startswith(("<", *own)):
                found = TOKEN.finditer(text, marker.end(), end)
                self.tokens += [token for token in found if not token["marker"]]
        self.words = [token[0] if token["text"] else "".join(token[0].split()) for token in self.tokens]

    def place(self, position):
        i = bisect.bisect_right(self.starts, position) - 1
        line = int(self.markers[i][1]) - 1 + self.text.count("\n", self.starts[i], position)
        return f"{self.markers[i][2]}:{line}"

    def place_of(self, word):
        """Where the user's files name it first, or None."""
        return self.place(self.tokens[self.words.index(word)].start()) if word in self.words else None

    def refuse(self, i, what):
        raise modules.Refused(f"{self.place(self.tokens[i].start())}: {what}; {SEE}")

    def closing(self, i):
        """The index of what closes the bracket at i."""
        depth = 0
        for j in range(i, len(self.words)):
            depth += (self.words[j] in OPENING) - (self.words[j] in CLOSING)
            if depth == 0:
                return j
        return self.refuse(i, "this bracket is not closed")

    def opening(self, i):
        """The index of what opens the bracket, or the list of template arguments, that ends at i."""
        angles = self.words[i].startswith(">")
        depth = level = 0
        for j in range(i, -1, -1):
            word = self.words[j]
            depth += (word in CLOSING) - (word in OPENING)
            if angles and depth == 0:
                level += {">": 1, ">>>": 3, "<": -1}.get(word, 0)
            if depth == 0 and level == 0:
                return j
        return self.refuse(i, "this bracket is not opened")

    def kernel_start(self, i):
        """Where the expression begins that names the kernel, which ends before token i: a::k<T>, table[i], (ready ? k : l)."""
        while True:
            i -= 1
            if self.words[i] in (">", ">>>", ")", "]"):
                i = self.opening(i)
                if i == 0 or not (self.tokens[i - 1]["word"] or self.words[i - 1] in CLOSING):
                    return i
                continue
            before = self.words[i - 1] if i > 0 else ""
            if before == "template":
                i, before = i - 1, self.words[i - 2]
            if before not in ("::", ".", "->"):
                return i
            i -= 1
            if before == "::" and not (self.tokens[i - 1]["word"] or self.words[i - 1] == ">"):
                return i

    def edit(self, first, last, text):
        """Tokens first to last (not included) become the text, on as many lines."""
        start, end = (
            self.tokens[first].start(),
            self.tokens[last - 1].end() if last > first else self.tokens[first].start(),
        )
        self.edits.append((start, end, text + "\n" * self.text.count("\n", start, end)))

    def pieces(self, opening):
        """What stands between the commas of a call, as (first, last not included)."""
        end, depth, start = self.closing(opening), 0, opening + 1
        for j in range(opening + 1, end + 1):
            depth += (self.words[j] in OPENING) - (self.words[j] in CLOSING)
            if j == end or (depth == 0 and self.words[j] == ","):
                yield start, j
                start = j + 1

    def named(self):
        """cudaMalloc(&x, n): reports call the array x."""
        for i, word in enumerate(self.words):
            if ALLOCATES.fullmatch(word) and self.words[i + 1] == "(":
                first, last = next(self.pieces(i + 1))
                name = re.search(r"&([\w.\[\]]+)\)?$", "".join(self.words[first:last]).replace("->", "."))
                if name:
                    self.edit(first, first, f'emulator_named("{name[1]}", ')
                    self.edit(last, last, ")")

    def zeros(self, opening):
        """Arguments of a launch that are the literal 0, a null pointer only where it is written: the parameters of the lambda without
        them, and what it passes. None if there is none, or a comma may stand between template arguments."""
        pieces = list(self.pieces(opening))
        zero = [self.words[first:last] == ["0"] for first, last in pieces]
        if not any(zero) or "<" in self.words[opening : pieces[-1][1]]:
            return None
        names = [None if own else f"emulator_value{n}" for n, own in enumerate(zero)]
        for n, (first, last) in enumerate(pieces):
            if zero[n] and not all(zero[:n]):
                self.edit(first - 1, last, "")
            elif zero[n]:
                self.edit(first, last + (n + 1 < len(pieces)), "")
        return ", ".join(f"const auto &{name}" for name in names if name), ", ".join(name or "0" for name in names)

    def launches(self):
        """k<<<grid, block>>>(x) becomes EmulatorKernel("k", [=](const auto &...values) { k(values...); }).on(grid, block)(x)."""
        for i, word in enumerate(self.words):
            if word != "<<<":
                continue
            start, end, depth = self.kernel_start(i), i + 1, 0
            while end < len(self.words) and (depth > 0 or self.words[end] != ">>>"):
                depth += (self.words[end] in OPENING) - (self.words[end] in CLOSING)
                end += 1
            if end + 1 >= len(self.words) or self.words[end + 1] != "(":
                self.refuse(i, "<<< without >>>(...)")
            name = re.sub(r"\s+", " ", self.text[self.tokens[start].start() : self.tokens[i - 1].end()])
            given = self.zeros(end + 1) or ("const auto &...emulator_values", "emulator_values...")
            self.edit(start, start, f"EmulatorKernel({json.dumps(name)}, [=]({given[0]}) {{ ")
            self.edit(i, i + 1, f"({given[1]}); }}).on(")
            self.edit(end, end + 1, ")")
            for j in range(end + 1, self.closing(end + 1)):
                if self.words[j] == "__null":
                    self.edit(j, j + 1, "nullptr")

    def by_address(self):
        """cudaLaunchKernel((void *)k, ...) has to know the parameters of k: the cast goes."""
        for i, word in enumerate(self.words):
            if word in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and self.words[i + 1 : i + 3] == ["(", "("]:
                end = self.closing(i + 2) + 1
                if set(self.words[i + 3 : end - 1]) <= {"const", "void", "*"}:
                    self.edit(i + 2, end, "")

    def scopes(self):
        """Of each token: does it stand outside functions and classes?"""
        stack, outside, head = [], [], 0
        for i, word in enumerate(self.words):
            outside.append(all(stack))
            if word == "{":
                stack.append(bool({"namespace", "extern"} & set(self.words[head:i])) and "(" not in self.words[head:i])
            elif word == "}" and stack:
                stack.pop()
            if word in ("{", "}", ";"):
                head = i + 1
        return outside

    def shared(self):
        """__shared__ variables are static ones in a section of their own; `extern __shared__ T name[]` is the block's memory."""
        outside, everywhere, hidden, head = self.scopes(), {}, set(), 0
        for i, word in enumerate(self.words):
            if word in ("{", "}", ";", ":"):
                head = i + 1
            if outside[i] and (word == ";" or not outside[i - 1]):
                hidden.clear()
            if word in everywhere and self.words[i - 1] not in (".", "->", "::"):
                if outside[i] or self.declared(head, i):  # a parameter or variable of that name
                    hidden.add(word)
                elif word not in hidden:
                    self.edit(i, i + 1, everywhere[word])
            if word != "__shared__":
                continue
            end = self.words.index(";", i)
            if "extern" not in self.words[head:end]:
                self.edit(i, i + 1, STATIC_SHARED)
                continue
            kind, name, tail = self.dynamic(head, end)
            memory = f"(*reinterpret_cast<{kind} (*)[]{tail}>(emulator_dynamic_shared()))"
            self.edit(head, end, "" if outside[i] else f"{kind} (&{name})[]{tail} = {memory}")
            if outside[i]:
                everywhere[name] = memory
            self.words[head:end] = [""] * (end - head)

    def declared(self, head, i):
        """Is this the name of a variable that the statement declares?"""
        words = self.words[head:i]
        depth = sum((word in OPENING) - (word in CLOSING) for word in words)
        if not words or depth or "=" in words or words[0] in KEYWORDS or not self.tokens[head]["word"]:
            return False
        follows = [self.tokens[j]["word"] or self.words[j] in ("*", "&", ",", "::", "<") for j in (head + 1, i - 1)]
        return all(follows)

    def dynamic(self, head, end):
        """Type, name and further dimensions of a declaration."""
        left = []
        i = head
        while i < end:
            if self.words[i] in ("__attribute__", "alignas"):
                i = self.closing(i + 1)
            elif self.words[i] not in ("extern", "__shared__", "static"):
                left.append(self.words[i])
            i += 1
        if "[" not in left:
            self.refuse(head, "`extern __shared__ T name[]` is expected")
        bracket = left.index("[")
        return " ".join(left[: bracket - 1]), left[bracket - 1], " ".join(left[bracket + 2 :])

    def renamed(self):
        """What the program calls like an enumerator of the emulator's is another one's."""
        for i, word in enumerate(self.words):
            if ENUMERATORS.fullmatch(word):
                self.edit(i, i + 1, f"program_{word}")

    def refusals(self):
        for i, word in enumerate(self.words):
            if TEXTURES.fullmatch(word) and (word.startswith("cuda") or self.words[i + 1] in ("<", "(")):
                self.refuse(i, f"{word}: textures and surfaces are not emulated")
            if word in CLUSTERS:
                self.refuse(i, f"{word}: clusters are not emulated")
            if word in ("asm", "__asm__", "__asm"):
                text = next((j for j in range(i, min(i + 5, len(self.words))) if self.tokens[j]["text"]), i)
                strings = ptx.STRING.findall(self.source(text, self.closing(text - 1)))
                found = PTX.match("".join(strings))
                if found:
                    self.inline(i, text - 1, found[1])

    def inline(self, i, bracket, opcode):
        """An asm statement of PTX becomes C++, or is refused."""
        end, sections, depth, start = self.closing(bracket), [], 0, bracket + 1
        for j in range(bracket + 1, end + 1):
            depth += (self.words[j] in OPENING) - (self.words[j] in CLOSING)
            if j == end or (depth == 0 and self.words[j] in (":", "::")):
                sections += [(start, j)] + [(j, j)] * (self.words[j] == "::")
                start = j + 1
        operands = []
        for first, last in sections[1:3]:
            brackets = [j for j in range(first, last) if self.words[j] == "(" and self.tokens[j - 1]["text"]]
            operands += [self.source(j + 1, self.closing(j)) for j in brackets]
        try:
            self.edit(i, end + 1, ptx.translated(self.source(*sections[0]), operands))
        except ptx.Unknown as unknown:
            self.refuse(i, f"inline PTX is not emulated: {unknown if '.' in str(unknown) else opcode}")

    def source(self, first, last):
        """The text of tokens, on one line."""
        return " ".join(self.words[first:last])

    def rewritten(self):
        self.refusals()
        self.launches()
        self.by_address()
        self.shared()
        self.named()
        self.renamed()
        parts, at = [], 0
        for start, end, text in sorted(self.edits):
            if start < at:  # inside of what was rewritten as a whole
                continue
            parts += [self.text[at:start], text]
            at = end
        return "".join([*parts, self.text[at:]])


class Arguments:
    """Those of the command line."""

    def __init__(self, words):
        self.files, self.flags, self.program, self.kinds, self.sandbox = [], [], [], "all", True
        words = list(words)
        while words:
            word = words.pop(0)
            if word == "--":
                self.program = words
                return
            if word == "--no-sandbox":
                self.sandbox = False
            elif word.split("=")[0] == "--emulator":
                self.kinds = word.split("=")[1] if "=" in word else words.pop(0)
            elif word.startswith("-"):
                value = [words.pop(0)] if word in WITH_VALUE and words else []
                if word.startswith(PREFIXED) or word in ("-isystem", "-include", "-std"):
                    self.flags += [f"{word}={value[0]}"] if word == "-std" else [word.replace("--std", "-std"), *value]
            else:
                self.files.append(pathlib.Path(word))
        if self.kinds not in KINDS:
            sys.exit(f"rungs try: --emulator {self.kinds}: {', '.join(KINDS)} is wanted")


class Compiler:
    def __init__(self, project, flags):
        self.project, self.flags = project, flags

    def command(self, kind):
        """How a kernel is compiled, without what belongs to variants."""
        words, kept = iter(self.project.settings[kind]["compile"]), []
        for word in words:
            if word in ("-x", "-isystem", "-include-pch"):
                next(words)
            elif not word.startswith(
                ("-I", "-D", "-W", "-std=", "-fvisibility", "-fno-sanitize-recover", "-fsanitize-undefined-strip")
            ):
                kept.append(word)
        return kept

    def folders(self):
        """Of headers: the emulator's and the toolkit's."""
        words = self.project.settings["asan"]["compile"]
        toolkit = next(words[i + 1] for i, word in enumerate(words) if word == "-isystem")
        return [*(word[2:] for word in words if word.startswith("-I")), toolkit]

    def text(self, file, dependencies=None, own=None):
        """Preprocessed; in `dependencies` the files that it is made of. own: files in folders that begin so are not the user's."""
        argv = [self.command("asan")[0], "-E", "-x", "c++", "-std=c++17", "-w"]
        for folder in [*self.folders(), f"{self.folders()[-1]}/cccl"]:
            argv += ["-isystem", folder]
        first = ["-include", "emulator/cuda_program.h"]
        if file.suffix in CXX[1:4] and "cuda" not in file.read_text(errors="replace"):
            first = []  # what nvcc leaves to the host compiler
        with tempfile.NamedTemporaryFile("w", prefix="rungs-", suffix=".h") as headers:
            wanted = self.of_cccl(file)
            if wanted:
                headers.write(with_cccl(wanted))
                headers.flush()
                first = ["-include", headers.name]
            argv += [*first, *self.flags, f"-I{file.parent}"]  # a file by -include sees the runtime, as nvcc's do
            return self.preprocessed(argv, file, dependencies, own)

    def of_cccl(self, file, seen=None):
        """The headers of CCCL that a file includes, or its own headers do."""
        seen, found = {} if seen is None else seen, []
        if seen.setdefault(file, False) or not file.is_file():
            return []
        seen[file] = True
        folders = [
            file.parent,
            *(pathlib.Path(flag[2:]) for flag in self.flags if flag.startswith("-I") and flag != "-I"),
        ]
        folders += [pathlib.Path(flag) for before, flag in zip(self.flags, self.flags[1:]) if before == "-I"]
        for name in INCLUDE.findall(file.read_text(errors="replace")):
            if CCCL.match(name):
                found.append(name)
            else:
                found += next((self.of_cccl(f / name, seen) for f in folders if (f / name).is_file()), [])
        return list(dict.fromkeys(found))

    def preprocessed(self, argv, file, dependencies, own):
        if self.project.no_toolkit:
            raise modules.Refused(self.project.no_toolkit)
        argv += ["-MD", "-MF", dependencies, "-MT", "it"] if dependencies else []
        done = subprocess.run(
            modules.in_sandbox([*argv, file], pathlib.Path(dependencies).parent) if dependencies else [*argv, file],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode:
            said = modules.first_error(done.stderr)
            outer = re.search(r"In file included from (\S+:\d+):", done.stderr)
            if "CUDA toolkit headers are incompatible" in said and outer:  # CCCL as it would be read for a device
                said = f"{outer[1]}: this header, or one that it includes, is CCCL's and not emulated"
            raise modules.Refused(f"{said}; {SEE}")
        return CudaText(done.stdout, tuple(self.folders()) if own is None else own)

    def object_of(self, text, kind, to, more=(), run=None):
        """run: of the compiler, which says what is wrong in its own way."""
        source = to.with_suffix(".ii")
        source.write_text(text)
        standard = [flag for flag in self.flags if flag.startswith("-std")]
        argv = [
            *self.command(kind),
            "-x",
            "c++-cpp-output",
            "-std=c++17",
            *standard,
            *WARNINGS,
            "-ferror-limit=3",
            # Thrust has references to nothing.
            *(["-fno-sanitize=null,object-size"] if "emulator_memory_shared" in text else []),
            *more,
        ]
        argv += ["-fdebug-compilation-dir=/rungs", "-c", source, "-o", to]
        (run or compile_one)(argv)
        names = ["main=rungs_program_main", "__assert_fail=emulator_assert_fail", "aligned_alloc=memalign"]
        names += [f"{name}=emulator{name}" for name in ("_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm")]
        renamed = [word for name in names for word in ("--redefine-sym", name)]
        renamed += ["--wildcard", "--localize-symbol=PyInit_*"]  # a module of Python's is not loaded as one
        modules.run(
            [self.project.settings["objcopy"], *self.project.settings[kind]["names"], *renamed, to],
            modules.COMPILE_SECONDS,
        )
        return to

    def program(self, texts, kind, to):
        """A shared object that the emulator's program loads."""
        rewritten = [text.rewritten() for text in texts]
        objects = [self.object_of(text, kind, to / f"{kind}{i}.o") for i, text in enumerate(rewritten)]
        made = to / f"{kind}.so"
        modules.run(
            [*self.project.settings[kind]["link"], "-shared", "-o", made, *objects, "-lm", "-lgomp"],
            modules.COMPILE_SECONDS,
        )
        missing = undefined(made) - offered(self.project.settings[kind]["program"])
        if "rungs_program_main" not in offered(made):
            raise modules.Refused(f"{texts[0].markers[0][2]}: there is no main()")
        if missing:
            raise modules.Refused(self.missing(texts, sorted(missing)))
        return made

    def missing(self, texts, names):
        """One line for each function that is not there."""
        plain = subprocess.run(
            ["c++filt"], input="\n".join(names), check=False, capture_output=True, text=True
        ).stdout.split("\n")
        lines = []
        for name in plain:
            word = re.split(r"[<(]", name)[0].split("::")[-1].split()[-1:] or [""]
            place = next((place for place in (text.place_of(word[0]) for text in texts) if place), None)
            lines += [f"{place}: {name} is not emulated"] if place else []
        return "\n".join(lines or [f"{name} is not emulated" for name in plain if name]) + f"; {SEE}"


@functools.cache
def warn(line):
    """Once, for all emulators."""
    print(f"rungs try: {line}", file=sys.stderr)


def compile_one(argv):
    try:
        output = modules.run(argv, modules.COMPILE_SECONDS)
    except modules.Refused as error:
        raise modules.Refused(f"{error}; {SEE}") from None
    for line in output.splitlines():
        if ": warning: " in line:
            warn(line)


def with_cccl(names):
    """A header that includes these as the host compiler's."""
    thrust = "#define RUNGS_PROGRAM_THRUST\n" if any(name.startswith("thrust/") for name in names) else ""
    lines = "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in names)
    return f'{thrust}#include "emulator/cuda_program_cccl.h"\n{lines}#define __CUDACC__ 1\n#define __CUDA_ARCH__ 900\n'


def symbols(file, *options):
    return subprocess.run(["nm", "-D", *options, file], check=False, capture_output=True, text=True).stdout.split("\n")


def undefined(file):
    """What no library that it was linked with has: of those names nm tells no version."""
    found = {line.split()[-1] for line in symbols(file, "--undefined-only") if " U " in line}
    return {
        name
        for name in found
        if "@" not in name and not name.startswith(("__asan", "__ubsan", "__sanitizer", "__tsan", "__msan"))
    }


def offered(file):
    return {line.split()[-1].split("@")[0] for line in symbols(file, "--defined-only") if line}


def sandboxed(argv, to, named):
    """The root read-only but for the working folder, no network, /tmp of its own but for files that the arguments name."""
    here = os.getcwd()
    files = [os.path.abspath(word) for word in named if os.path.exists(word)]
    words = f"{modules.CAGE} --proc /proc --dev /dev --tmpfs /tmp".split()
    for kind, path in (("--ro-bind", to), *(("--ro-bind", file) for file in files), ("--bind", here)):
        words += [kind, path, path]
    return ["bwrap", *words, "--chdir", here, "--", *argv]


class Run:
    """One run of the program: its exit code, and what is known of its kernels."""

    def __init__(self, compiler, arguments, kind, module, kinds):
        self.kind = kind
        table = os.memfd_create("kernels")
        os.ftruncate(table, ROW_BYTES * ROWS_MAX)
        # Whether the value of an uninitialised read is used: the memory emulator knows.
        unused = {"RUNGS_EMULATOR_INIT": "1"} if "memory" in kinds else {}
        environment = {**DEFAULTS, **unused, **os.environ, "RUNGS_PROGRAM_TABLE": str(table)}
        argv = [
            compiler.project.settings[kind]["program"],
            "--program",
            module,
            f"./{arguments.files[0].stem}",
            *arguments.program,
        ]
        argv = sandboxed(argv, module.parent, arguments.program) if arguments.sandbox else argv
        output = None if kind == kinds[0] else subprocess.DEVNULL
        self.code = subprocess.run(argv, check=False, env=environment, pass_fds=[table], stdout=output).returncode
        rows = os.pread(table, ROW_BYTES * ROWS_MAX, 0).split(b"\n")
        rows = [row.strip(b"\0 ").decode(errors="replace").split("\t") for row in rows]
        self.rows = {row[0]: (*map(int, row[1:4]), row[4]) for row in rows if len(row) == 5}
        kinds = [kind for *_, found in self.rows.values() for kind in found.split(", ") if kind]
        self.failed = any(not kind.startswith("note: ") for kind in kinds)
        crashed = (
            -self.code if self.code < 0 else self.code - 128 if arguments.sandbox else 0
        )  # bwrap's code for a signal
        if not self.failed and (self.code == FAULT_EXIT_CODE or crashed in CRASHES):
            what = "a fault, see above" if self.code == FAULT_EXIT_CODE else signal.Signals(crashed).name
            self.rows["(host code)"] = (0, 0, 0, what)
            self.failed = True


def print_table(runs):
    """Each kernel: its launches, blocks, schedules that were run (by the race detector more than one a launch), and what was found."""
    lines = [("kernel", "launches", "blocks", "schedules", "found")]
    for name in dict.fromkeys(name for run in runs for name in run.rows):
        known = [run.rows[name] for run in runs if name in run.rows]
        found = ", ".join(dict.fromkeys(kind for row in known for kind in row[3].split(", ") if kind))
        lines.append((name, *(str(max(row[i] for row in known)) for i in range(3)), found or "-"))
    widths = [max(len(line[i]) for line in lines) for i in range(4)]
    print(file=sys.stderr)
    for line in lines:
        numbers = "  ".join(f"{line[i]:>{widths[i]}}" for i in (1, 2, 3))
        print(f"{line[0]:<{widths[0]}}  {numbers}  {line[4]}", file=sys.stderr)


def main():
    arguments = Arguments(sys.argv[2:])
    compiler = Compiler(modules.Project(pathlib.Path(sys.argv[1]), pathlib.Path(".")), arguments.flags)
    kinds, built = KINDS[arguments.kinds], {}
    modules.prepare(compiler.project, set(kinds), False)
    with tempfile.TemporaryDirectory(prefix="rungs-try-") as folder:
        for kind in kinds:
            try:
                if kind in compiler.project.broken:
                    raise modules.Refused(compiler.project.broken[kind])
                texts = [compiler.text(file) for file in arguments.files]
                built[kind] = compiler.program(texts, kind, pathlib.Path(folder))
            except modules.Refused as error:
                alone = kind != "memory" or not built
                print(f"rungs try: {error}" if alone else f"rungs try: without memory: {error}", file=sys.stderr)
                if alone:
                    return 2
        runs = [Run(compiler, arguments, kind, module, list(built)) for kind, module in built.items()]
    print_table(runs)
    return 1 if any(run.failed for run in runs) else runs[0].code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
