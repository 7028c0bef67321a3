"""Makes the modules of variants: each file impls/<op>/<name>.c or .cu becomes a shared object, <name>.so for the machine, <name>.asan.so,
<name>.race.so and <name>.memory.so for the emulator's programs, and beside it a .json with what it says of itself and what it was made of. Of a library
variant (peer_*.py, triton_*.py, torch_*.py) there is only the .json.

    modules.py FOLDER OTHER KIND:ID:PATH... KIND: native, asan, race or memory; PATH: of the source, below the project or absolute. Modules of
                                          `rungs try`, OP/try_NAME, come into the folder OTHER
    modules.py FOLDER --all KIND...       all variants of the project; exit code 1 if one cannot be made
    modules.py FOLDER --install PREFIX    all, into lib/rungs/modules of a prefix
    modules.py --contract HARNESS FILE    writes C with the hash of the contract's headers
    modules.py --exports LIBRARY FILE     writes the names that a program shows to modules

FOLDER has settings.json (cmake/modules.cmake). A module that cannot be made has its first error in the .json; that is no failure of this
program. Nothing is left half made: files are renamed into their place, and two that need one module make it once.
"""

import concurrent.futures
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.modules["modules"] = sys.modules[__name__]  # of those that import it again

import bound
import code_hashes

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "harness/device"))
from peer import described

ENDINGS = {".c": ("cpu_",), ".cu": ("cuda_",), ".py": ("peer_", "triton_", "torch_")}
SUFFIX = {"native": "", "asan": ".asan", "race": ".race", "memory": ".memory"}
COMPILE_SECONDS = float(os.environ.get("RUNGS_COMPILE_SECONDS", "900"))
DESCRIBE_SECONDS = 20
SAY_SECONDS = 15
# No compiler gets more than 8 GiB, or half of the machine's memory, nor writes a file of more than 1 GiB: `#include "/dev/zero"` would take all.
COMPILE_BYTES = min(8 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
# Nor does one outlive by much what started it and was killed.
LIMITED = (
    "sh",
    "-c",
    f'ulimit -v {COMPILE_BYTES >> 10}; ulimit -f {1 << 21}; exec timeout -s KILL {COMPILE_SECONDS + 5:g} "$0" "$@"',
)
PREFIX = "@PREFIX@"  # in an installed settings.json: the folder that it was installed into
CUDA = "@CUDA@"  # there: the toolkit's, which need not be where it was when the package was made
# For bubblewrap: no network, no other process, and all files to read alone.
CAGE = "--die-with-parent --unshare-user-try --unshare-ipc --unshare-pid --unshare-net --cap-drop ALL --ro-bind / /"
EXPORTS = "{ global: rungs_module; local: *; };\n"


class Refused(Exception):
    """Why there is no module, in one line."""


def contract_hash(harness):
    """Of op.h, variant.h, kernel.h and what they include: what a module and a program must agree on."""
    found, names, rest = hashlib.sha256(), set(), ["op.h", "variant.h", "kernel.h"]
    while rest:
        name = rest.pop()
        if name not in names and (harness / name).exists():
            names.add(name)
            text = (harness / name).read_text()
            found.update(f"{name}\0{text}".encode())
            rest += re.findall(r'^#include "(base/.+)"', text, re.MULTILINE)
    return found.hexdigest()[:16]


def write_contract(harness, to):
    to.write_text(f'extern const char CONTRACT[];\nconst char CONTRACT[] = "{contract_hash(harness)}";\n')


def defined(library):
    """The names that a static library has."""
    return set().union(*(elf.defined() for elf in code_hashes.members(pathlib.Path(library).read_bytes())))


def write_exports(library, to):
    """The list of what a program shows to its modules, for the linker."""
    names = sorted(name for name in defined(library) if re.fullmatch(r"[A-Za-z]\w*", name))
    to.write_text("{\n" + "".join(f"{name};\n" for name in names) + "};\n")


def first_error(output):
    """The compiler's or the linker's, with file and line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (
        r":\d+.*error\b",  # of a place in a file
        r"undefined reference|undefined symbol|multiple definition|cannot find|error: (?!ld returned)",
        r"\bld: (?!warning)",
        r"rror",
    ):
        found = next((line for line in lines if re.search(pattern, line)), None)
        if found:
            return found
    return lines[-1] if lines else "ended without a word"


def run(argv, seconds, cwd=None, error=first_error, to=None, **more):
    """Its output; Refused with its error. What it started ends with it. to: it is a compiler, which writes there alone."""
    process = subprocess.Popen(
        [str(word) for word in (in_sandbox([*LIMITED, *argv], to) if to else argv)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        errors="replace",
        **more,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Refused(f"{pathlib.Path(argv[0]).name} did not end within {seconds:g} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode < 0 and not output.strip():
        raise Refused(f"{pathlib.Path(argv[0]).name} was ended by a signal: {signal.strsignal(-process.returncode)}")
    if process.returncode != 0:
        raise Refused(error(output))
    return output


def in_sandbox(argv, to):
    """Where workers have one (device/sandbox.c): a compiler, which reads what others wrote, writes into the folder `to` alone and has no network."""
    if not (bwrap := os.environ.get("RUNGS_SANDBOX")):
        return argv
    words = f"{CAGE} --dev-bind /dev /dev --ro-bind /dev/shm /dev/shm --proc /proc --setenv CCACHE_DISABLE 1"
    return [bwrap, *words.split(), "--bind", to, to, "--setenv", "TMPDIR", to, "--", *argv]


def with_toolkit(text):
    """An installed settings.json with this machine's toolkit, and why there is none."""
    nvcc, usual = shutil.which("nvcc"), "/usr/local/cuda"
    places = (
        os.environ.get("CUDA_HOME"),
        os.environ.get("CUDA_PATH"),
        nvcc and pathlib.Path(nvcc).resolve().parents[1],
        usual,
    )
    found = [place for place in places if place and (pathlib.Path(place) / "include/cuda_runtime.h").exists()]
    folder = pathlib.Path([*found, usual][0])
    static = [*folder.glob("lib*/libcudart_static.a"), *folder.glob("targets/*/lib/libcudart_static.a"), ""][0]
    text = re.sub(f'{CUDA}[^"]*/libcudart_static.a', str(static), text).replace(CUDA, str(folder))
    return text, None if found else f"no CUDA toolkit: none in {folder}, by CUDA_HOME, CUDA_PATH, nor by nvcc on PATH"


class Project:
    """What settings.json says."""

    def __init__(self, folder, other=None):
        self.folder, self.other = folder, other
        self.settings_file = stat_of(folder / "settings.json")
        text = (folder / "settings.json").read_text()
        self.broken = {}  # kinds for which there is no program, with the reason
        self.key = hashlib.sha256(text.encode()).hexdigest()
        prefix = pathlib.Path(__file__).resolve().parents[3]
        text, self.no_toolkit = with_toolkit(text) if CUDA in text else (text, None)
        self.settings = json.loads(text.replace(PREFIX, str(prefix)))
        self.root = pathlib.Path(self.settings["root"]) if self.settings["root"] else prefix
        self.temporary = (
            folder if self.settings["root"] else other
        ) / ".temporary"  # an installed one may be read-only
        self.harness = pathlib.Path(self.settings["harness"])
        self.contract = contract_hash(self.harness)

    @contextlib.contextmanager
    def temporary_folder(self):
        with tempfile.TemporaryDirectory(dir=self.temporary, prefix=f"{os.getpid()}-") as name:
            yield pathlib.Path(name)

    def sweep(self):
        """Removes what killed processes left, and modules whose variants are no more."""
        self.temporary.mkdir(parents=True, exist_ok=True)
        for left in self.temporary.iterdir():
            if not pathlib.Path(f"/proc/{left.name.split('-')[0]}").exists():
                shutil.rmtree(left, ignore_errors=True)
        there = {(path.parent.name, path.stem) for path in (self.root / self.settings["impls"]).glob("*/*")}
        for kept in self.folder.glob("[!.]*/*") if self.settings["root"] else ():
            op, name = kept.parent.name, kept.name.lstrip(".").partition(".")[0]
            if op != "shared" and (op, name) not in there:
                kept.unlink(missing_ok=True)

    def base_of(self, kind, id_):
        """Where the files of its module lie, without their endings."""
        return (self.other if "/try_" in id_ else self.folder) / f"{id_}{SUFFIX[kind]}"

    def beside(self, id_):
        """For the compiler, of a file from elsewhere, which may begin as a copy: the headers that the op's variants share."""
        impls = self.root / (self.settings["impls"] or "share/rungs/impls")
        return [f"-I{impls / id_.partition('/')[0]}"] if "/try_" in id_ else []

    @functools.cached_property
    def emulated_build(self):
        """The same modules in the build for the emulator alone, which ./rungs leaves as it is when it builds the tests."""
        build = self.settings["build"]
        if not build.endswith("-tests"):
            return None
        folder = pathlib.Path(build.removesuffix("-tests"), os.path.relpath(self.folder, build))
        return Project(folder) if (folder / "settings.json").exists() else None

    def commands(self, kind, language):
        """How such a module is made, whatever the build folder is called."""
        keys = ["libraries", *(["link_cuda", "runtime"] if language == "cu" else ["link"])]
        words = (
            [self.compiler(language), *map(self.settings.get, keys)] if kind == "native" else self.settings.get(kind)
        )
        return json.dumps(words).replace(f"{self.settings['build']}/", "")

    def all(self):
        """(id, path) of every variant."""
        impls = self.root / self.settings["impls"]
        for path in sorted(impls.glob("*/*")):
            if path.name.startswith(ENDINGS.get(path.suffix, ())) and path.parent.name != "common":
                if path.suffix != ".cu" or self.settings["cuda"]:
                    yield f"{path.parent.name}/{path.stem}", str(path.relative_to(self.root))

    def compiler(self, language):
        """The command by which the build compiles such a file, without names of files."""
        if language not in self.settings["compile"]:
            commands = json.loads(pathlib.Path(self.settings["commands"]).read_text())
            probe = f"{self.settings['probe']}.{language}"
            command = next(c for c in commands if c["file"] == probe)
            words, kept = shlex.split(command["command"]), []
            for before, word in zip(["", *words], words):
                if not {before, word} & {"-o", "-c"}:
                    kept.append(word)
            self.settings["compile"][language] = [*self.settings["launcher"], *kept]
        return self.settings["compile"][language]

    def compile(self, source, kind, unit, to, more=()):
        """An object file, and the files that it was made of."""
        made = to / f"{unit}.o"
        if source.suffix == ".cu" and self.no_toolkit:
            raise Refused(self.no_toolkit)
        if kind == "native":
            position = ["-fPIC", "-fvisibility=hidden"]
            position = [f"-Xcompiler={','.join(position)}"] if source.suffix == ".cu" else position
            argv = [*self.compiler(source.suffix[1:]), *position]
        else:
            argv = [*self.settings[kind]["compile"], f'-DRUNGS_UNIT="{unit}"']
        argv += [*more, f'-DRUNGS_CONTRACT="{self.contract}"', "-MMD", "-MF", f"{made}.d", "-c", source, "-o", made]
        run(argv, COMPILE_SECONDS, cwd=self.root, to=to)
        if kind != "native" and source.suffix == ".cu":
            run([self.settings["objcopy"], *self.settings[kind]["names"], made], COMPILE_SECONDS)
        return made, self.dependencies(made, self.root)

    @staticmethod
    def dependencies(made, folder):
        """The files that an object was made of in a folder, and by which links it was led to them."""
        text = made.with_name(f"{made.name}.d").read_text().split(": ", 1)[1].replace("\\\n", " ")
        names = re.findall(r"(?:\\[ #]|\S)+", text)
        named = [folder / re.sub(r"\\([ #])", r"\1", name).replace("$$", "$") for name in names]
        links = [path for path in (pathlib.Path(os.path.abspath(name)) for name in named) if path.exists()]
        return list(dict.fromkeys([*(name.resolve() for name in named), *links]))

    def shared_sources(self, files):
        """What variants share, impls/common/**.c and impls/<op>/_*.c, in the folders of these files."""
        impls = self.root / "impls"
        found = [*impls.glob("common/**/*.c"), *impls.glob("*/_*.c")] if self.settings["root"] else []
        return sorted(path for path in found if any(file.parent == path.parent for file in files))


def stat_of(path):
    facts = path.stat()
    return [str(path), facts.st_mtime_ns, facts.st_size]


def unchanged(kept):
    with contextlib.suppress(OSError, KeyError, TypeError):
        return all(stat_of(pathlib.Path(file[0])) == file for file in kept["files"])
    return False


def is_whole(made, kept):
    """Where the machine lost its power, a file that was renamed into its place may be empty."""
    return kept is not None and made.exists() and made.stat().st_size == kept.get("bytes", made.stat().st_size)


def stats_of(paths, began):
    """One that was written since then may not be what was compiled: it never counts as unchanged."""
    found = [stat_of(path) for path in dict.fromkeys(paths)]
    return [[name, written if written < began else 0, size] for name, written, size in found]


def load(path):
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_text())
        return found if isinstance(found, dict) else None
    return None


@contextlib.contextmanager
def locked(path):
    """Holds the lock of a file that nobody removes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def replace(path, text):
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    os.replace(part, path)


def peer(path):
    """The facts of a library variant: a literal, read without importing the file."""
    kinds = ("int", "real", "choice", "text")
    try:
        found = described(path)
    except ValueError as error:
        raise Refused(str(error)) from None
    for key in ("summary", "origin", "framework"):
        if not isinstance(found.get(key), str):
            raise Refused(f"VARIANT['{key}'] must be a string")
    for tunable in found.get("tunables", []):
        if tunable.get("kind") not in kinds:
            raise Refused(f"a tunable's kind must be one of {', '.join(kinds)}")
        tunable["default"] = str(tunable["default"])
        tunable["min"], tunable["max"] = float(tunable.get("min", 0)), float(tunable.get("max", 0))
    return found


def shared_object(project, source):
    """An object of what variants share, made once, for the machine and the emulator alike: (path, files)."""
    name = "__".join(source.relative_to(project.root / "impls").with_suffix("").parts)
    base = project.folder / "shared" / name
    facts, made = base.with_name(base.name + ".json"), base.with_name(base.name + ".o")
    with locked(base.with_name(base.name + ".lock")):
        kept = load(facts)
        if not (is_whole(made, kept) and kept.get("key") == project.key and unchanged(kept)):
            began = time.time_ns()
            with project.temporary_folder() as to:
                object_file, files = project.compile(source, "native", name, to)
                os.replace(object_file, made)
            kept = {"key": project.key, "bytes": made.stat().st_size, "files": stats_of(files, began)}
            replace(facts, json.dumps(kept))
    return made, kept["files"]


def describe(project, kind, module, id_):
    """What the module says of itself, in a process of its own."""
    program = project.settings["program"] if kind == "native" else project.settings[kind]["program"]
    ours, its = os.pipe()
    with open(ours) as answer:
        try:
            words = ["worker"] if kind == "native" else []
            run([program, *words, "--describe", module, id_, "--replies", its], DESCRIBE_SECONDS, pass_fds=[its])
        except Refused as error:
            raise Refused(f"cannot be loaded: {error}") from None
        finally:
            os.close(its)
        ready, _, _ = select.select([answer], [], [], 1)  # a process that it left may keep it open
        text = os.read(answer.fileno(), 1 << 20) if ready else ""
    try:
        found = json.loads(text)
    except ValueError:
        raise Refused("cannot be loaded: it ended the process") from None
    lacking = re.search(r"undefined symbol: (\w+)", found.get("error", ""))
    if lacking:
        name = subprocess.run(["c++filt", lacking[1]], check=False, capture_output=True, text=True).stdout.strip()
        raise Refused(f"cannot be loaded: nothing that it is made of defines {name or lacking[1]}")
    if "error" in found:
        raise Refused(found["error"])
    return found


def make(project, kind, id_, source):
    """The facts of a variant, whose module is in its place."""
    if source.suffix == ".py":
        found = {"variant": peer(source), "files": [source]}
        if "/try_" in id_:  # a worker finds it by its id
            shutil.copyfile(source, project.base_of(kind, id_).with_suffix(".py"))
        return found
    module = project.base_of(kind, id_).with_suffix(f"{SUFFIX[kind]}.so")
    unit = id_.replace("/", "__")
    with project.temporary_folder() as to:
        pasted = bound.is_bound(project, source)
        if pasted:
            (own, *parts), files = bound.objects(project, source, kind, to)
        else:
            (own, files), parts = project.compile(source, kind, unit, to, project.beside(id_)), []
        on_device = source.suffix == ".cu"
        hashes = (None, None, "bound by rungs try" if pasted else "emulated")
        foreign = {name for name in code_hashes.Object(own.read_bytes()).needs if not project.known(name)}
        objects = dict(shared_object(project, path) for path in project.shared_sources(files)) if foreign else {}
        parsed = {path: code_hashes.Object(path.read_bytes(), str(project.root)) for path in objects}
        needed = code_hashes.reached(foreign, list(parsed.values()))
        linked = [path for path, found in parsed.items() if found in needed]
        if kind == "native" and not pasted:
            file = f"/{source.parent.name}/{source.name}"
            hashes = code_hashes.code_hashes(
                own.read_bytes(), on_device, parsed.values(), project.known, source=str(project.root), own=file
            )
        if kind == "native":
            link = project.settings["link_cuda" if on_device else "link"]
            libraries = [*project.settings["libraries"], *(project.settings["runtime"] if on_device else [])]
        else:
            link, libraries = project.settings[kind]["link"], project.settings["libraries"]
        (to / "exports").write_text(EXPORTS)
        part = to / module.name
        link = [
            *link,
            "-shared",
            f"-Wl,--version-script={to / 'exports'}",
            "-o",
            part,
            own,
            *parts,
            *linked,
            *libraries,
        ]
        run([*link, *["-Wl,--gc-sections"][: len(parts)]], COMPILE_SECONDS, cwd=project.root)
        facts = {"variant": describe(project, kind, part, id_)}
        facts["code"] = dict(zip(("sass_hash", "host_hash", "reason"), hashes))
        facts["files"] = [*files, *(pathlib.Path(file[0]) for path in linked for file in objects[path])]
        facts["files"] += [pathlib.Path(word) for word in libraries if os.path.isabs(word) and os.path.isfile(word)]
        facts |= {"module": hashlib.sha256(part.read_bytes()).hexdigest(), "bytes": part.stat().st_size}
        os.replace(part, module)
    return facts


def is_current(project, base, kept, path):
    """Is the module there, made of this file as all of its files are now?"""
    same = kept and (kept.get("path"), kept.get("contract"), kept.get("error")) == (path, project.contract, None)
    there = path.endswith(".py") or is_whole(base.with_name(base.name + ".so"), kept)
    return there and same and unchanged(kept)


def copied(project, kind, id_, path):
    """The facts of a variant whose module another build has made of the same files in the same way, once it is copied; or None."""
    other = project.emulated_build
    if not other or path.endswith(".py") or "/try_" in id_:
        return None
    base = other.base_of(kind, id_)
    kept, module = load(base.with_name(base.name + ".json")), base.with_name(base.name + ".so")
    if not is_current(project, base, kept, path):
        return None
    language = path.rpartition(".")[2]  # a build without CUDA has no command for a .cu, and no such module either
    if other.commands(kind, language) != project.commands(kind, language):
        return None
    with project.temporary_folder() as to:
        part = pathlib.Path(shutil.copy2(module, to))
        if hashlib.sha256(part.read_bytes()).hexdigest() != kept["module"]:
            return None
        os.replace(part, project.base_of(kind, id_).with_name(module.name))
    files = [pathlib.Path(file[0]) for file in kept["files"][1:]]  # the first is its settings
    return {key: kept[key] for key in ("variant", "code", "module", "bytes")} | {"files": files}


def bring_up_to_date(project, kind, id_, path):
    """The error of the variant, or None."""
    source = project.root / path
    base = project.base_of(kind, id_)
    facts = base.with_name(base.name + ".json")
    with locked(base.parent / f".{base.name}.lock"):
        kept = load(facts)
        if is_current(project, base, kept, path):
            return None
        began = time.time_ns()
        new = {
            "path": path,
            "contract": project.contract,
            "error": None,
            "variant": (kept or {}).get("variant"),
            "code": None,
        }
        try:
            if kind in project.broken:
                raise Refused(project.broken[kind])
            made = copied(project, kind, id_, path) or make(project, kind, id_, source)
            new |= made | {"files": [project.settings_file, *stats_of(made["files"], began)]}
        except Exception as error:  # whatever it is, it costs this variant alone; the next start tries again
            said = f"{error}" if isinstance(error, (Refused, OSError, SyntaxError)) else repr(error)
            for place in (f"{project.root}/", "/rungs/"):
                said = said.replace(place, "")
            new["error"] = said if said.startswith((path, "--")) else f"{path}: {said}"
            base.with_name(base.name + ".so").unlink(missing_ok=True)
        replace(facts, json.dumps(new))
        return new["error"]


def prepare(project, kinds, built):
    """The emulator's programs and what is precompiled for them, where this is a build folder that does not call us itself."""
    project.sweep()
    for kind in sorted(kinds - {"native"}):
        if kind not in project.settings:
            there = "asan" in project.settings
            project.broken[kind] = (
                f"this build has no {kind + ' ' if there else ''}emulator" + ": x86-64 alone has one" * there
            )
        elif project.settings[kind]["targets"] and project.settings["build"] and not built:
            with locked(pathlib.Path(project.settings["lock"])):
                targets = project.settings[kind]["targets"]
                try:
                    run(["cmake", "--build", project.settings["build"], "--target", *targets], COMPILE_SECONDS)
                except Refused as error:
                    project.broken[kind] = f"the emulator cannot be built: {error}"
    harness = defined(project.settings["base"])
    if kinds - {"native", *project.broken}:
        harness |= defined(project.settings["engine"])
    of_runtime = code_hashes.runtime_offers()
    project.known = lambda name: name in harness or name.startswith("__") or of_runtime(name)


def bring_all_up_to_date(project, wanted, built=False):
    """The errors, in the order of the variants; now and then how many are done. built: the emulator's programs are there."""
    prepare(project, {kind for kind, _, path in wanted if not path.endswith(".py")}, built)
    errors, said = [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done, error in enumerate(pool.map(lambda one: bring_up_to_date(project, *one), wanted), 1):
            errors += [error] if error else []
            if time.monotonic() - said > SAY_SECONDS:
                print(f"rungs: {done} of {len(wanted)} variants are compiled", file=sys.stderr)
                said = time.monotonic()
    return errors


def all_of(project, kinds):
    for id_, path in project.all():
        for kind in kinds if path.endswith(".cu") else ["native"]:
            if kind != "native" or not path.endswith(".cu") or project.settings["native"]:
                yield kind, id_, path


def install(project, prefix):
    """The modules with what is known of them, as they are, and settings by which a file from elsewhere can be made one."""
    kinds = ["native", *(["asan"] if project.settings["emulated"] else [])]
    wanted = list(all_of(project, kinds))
    errors = bring_all_up_to_date(project, wanted, built=True)
    if errors:
        sys.exit("\n".join(errors))
    to = prefix / "lib/rungs/modules"
    for kind, id_, path in wanted:
        facts = load(project.folder / f"{id_}{SUFFIX[kind]}.json") | {"files": []}
        (to / id_).parent.mkdir(parents=True, exist_ok=True)
        (to / f"{id_}{SUFFIX[kind]}.json").write_text(json.dumps(facts))
        module = project.folder / f"{id_}{SUFFIX[kind]}.so"
        if module.exists():
            shutil.copy2(module, to / f"{id_}{SUFFIX[kind]}.so")
    (to / "settings.json").write_text(installed_settings(project))


def installed_settings(project):
    """Those by which the installed program makes a module of a file from elsewhere: all paths are the prefix's."""
    settings = json.loads((project.folder / "settings.json").read_text())
    settings |= {"build": "", "commands": "", "probe": "", "launcher": [], "compile": {}}
    for language in ["c", *(["cu"] if settings["native"] else [])]:
        settings["compile"][language] = without_paths(project.compiler(language)[len(project.settings["launcher"]) :])
    for kind in ("asan", "race", "memory"):
        if kind in settings:
            settings[kind] |= {"compile": without_paths(settings[kind]["compile"]), "targets": []}
    root, build = settings["root"], project.settings["build"]
    compilers = [
        settings["compile"].get("cu", []),
        *(settings[kind]["compile"] for kind in ("asan", "race", "memory") if kind in settings),
    ]
    paths = [pathlib.Path(word) for words in compilers for word in words if word.startswith("/")]
    toolkits = {path.parent for path in paths if path.name == "include"} | {
        path.parents[1] for path in paths if path.name == "nvcc"
    }
    settings["root"] = settings["impls"] = settings["lock"] = ""
    text = json.dumps(settings, indent=1, ensure_ascii=False)
    for library in ("base", "engine"):
        if library in settings:
            text = text.replace(settings[library], f"{PREFIX}/lib/rungs/{pathlib.Path(settings[library]).name}")
    for place, to in (
        (f"{build}/bin", "bin"),
        (f"{root}/emulator/include", "include/rungs/emulator/include"),
        (settings["harness"], "include/rungs"),
        (f"{root}/impls", "share/rungs/impls"),
    ):
        text = text.replace(place, f"{PREFIX}/{to}")
    for place in sorted(map(str, toolkits), reverse=True):
        text = text.replace(f'"{place}/', f'"{CUDA}/')
    return text.replace(f'"-I{root}"', f'"-I{PREFIX}/include/rungs"').replace(f";{root};", f";{PREFIX}/include/rungs;")


def without_paths(words):
    """Without what names the folder of the build: prefix maps and precompiled headers."""
    kept = []
    for word in words:
        if kept and kept[-1] == "-include-pch":
            kept.pop()
        elif "-prefix-map=" not in word and "-strip-path-components=" not in word:
            kept.append(word)
    return kept


def main():
    if sys.argv[1] == "--contract":
        write_contract(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    if sys.argv[1] == "--exports":
        write_exports(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    words = sys.argv[2:]
    project = Project(pathlib.Path(sys.argv[1]), None if words[0].startswith("--") else pathlib.Path(words[0]))
    if words[0] == "--install":
        install(project, pathlib.Path(words[1]))
    elif words[0] == "--all":
        errors = bring_all_up_to_date(project, list(all_of(project, words[1:])), built=True)
        if errors:
            sys.exit("\n".join(errors))
    else:
        wanted = [word.split(":", 2) for word in words[1:]]
        print(f"rungs: compiling {len(wanted)} variant{'s' * (len(wanted) > 1)}", file=sys.stderr)
        bring_all_up_to_date(project, wanted)


def end_of(start):
    """Runs a script. What the program that started it is to say goes to stdout."""
    try:
        start()
    except KeyboardInterrupt:
        sys.exit(130)
    except (Refused, OSError) as error:
        print(f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error, end="")
        sys.exit(1)


if __name__ == "__main__":
    end_of(main)
