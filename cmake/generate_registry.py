"""Writes registry.c: the tables of all ops and variants, from the paths of their files; of the program and, with --emulator-out, of the
emulator's programs, so that what is wrong is told once.

Library variants are Python (peer_*.py); their descriptor (a dictionary literal named VARIANT) is read without importing the file.
A file whose name or descriptor does not fit its path is an error here, with the fix: the linker would name unrelated programs, and a
file that no glob matches would be ignored silently.
"""

import argparse
import ast
import difflib
import json
import pathlib
import re
import sys

KINDS = {"int": "PARAM_INT", "real": "PARAM_REAL", "choice": "PARAM_CHOICE", "text": "PARAM_TEXT"}
NAME = re.compile(r"[a-z][a-z0-9_]*$")
PREFIXES = {".c": "cpu_", ".cu": "cuda_", ".py": "peer_"}  # of a variant's file, by its ending
HEADERS = {".h", ".cuh", ".inc"}
SHARED = "common"  # impls/common/: code that several ops share
COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)


def fail(path, message):
    sys.exit(f"{path}: {message}")


def quote(text):
    return "NULL" if text is None else json.dumps(text, ensure_ascii=False)


def identity(path):
    op, name = path.parent.name, path.stem
    if not NAME.match(op) or not NAME.match(name):
        fail(path, "folder and file must be words of a-z, 0-9 and _")
    return op, name


def op_of(path):
    """The op that a file of reference/ may define: reference/<op>.c, or reference/<op>/op.c where it has more than one file."""
    return path.parent.name if path.name == "op.c" else path.stem


def descriptors(path, macro):
    """The arguments of every RUNGS_VARIANT(...) or RUNGS_OP(...) of a C file, in the order of the file."""
    code = COMMENT_OR_LITERAL.sub(lambda found: found[0] if found[0][0] in "\"'" else " ", path.read_text())
    return [
        tuple(re.split(r"\s*,\s*", found.strip()))
        for found in re.findall(rf"^[ \t]*{macro}\s*\(([^)]*)\)", code, re.MULTILINE)
    ]


def wrong_descriptor(path):
    """Why the descriptor of a .c or .cu file does not fit its path, or None."""
    expected = identity(path)
    written = f"RUNGS_VARIANT({', '.join(expected)})"
    found = descriptors(path, "RUNGS_VARIANT")
    if not found:
        return f"no descriptor; end the file with {written} = {{...}};"
    if len(found) > 1:
        return f"{len(found)} descriptors; one file is one variant: keep {written} and move the others to files of their own"
    if found[0] != expected:
        return (
            f"the descriptor is RUNGS_VARIANT({', '.join(found[0])}), the path requires {written}: change one of them"
        )
    return None


def stray(path, in_impls):
    """Why a file beside the variants, itself not a variant, does not belong there; None if it does."""
    if path.parent.name == SHARED or path.name.startswith((".", "_")) or path.name.endswith("~"):
        return None
    if path.is_dir():
        return "a folder; a variant is one file: move its files up, or to impls/common/ if variants share them"
    if path.suffix in HEADERS:  # the tests' wrong variants keep theirs beside them, under any name
        return f"rename it to _{path.name}: shared code of an op begins with _" if in_impls else None
    prefix = PREFIXES.get(path.suffix)
    if not prefix:
        return "not a variant; expected cpu_NAME.c, cuda_NAME.cu, peer_NAME.py, or _NAME for code that variants share: rename or move it"
    for ending, other in PREFIXES.items():
        if path.name.startswith(other):
            return f"{other}* ends in {ending}, {path.suffix} begins with {prefix}: rename it to {path.stem}{ending} or to {prefix}{path.name.removeprefix(other)}"
    return f"the build ignores this name; rename it to {prefix}{path.name} (a variant begins with where it runs) or to _{path.name} (shared code)"


def check(args):
    """One line for every file whose name or descriptor does not fit its path."""
    source = args.source.resolve()
    problems, ops, names = [], {}, {}

    def problem(path, message):
        problems.append(f"{path.resolve().relative_to(source).as_posix()}: {message}")

    for path in sorted(args.references, key=pathlib.Path.as_posix):
        for op, *_ in descriptors(path, "RUNGS_OP"):
            if op != op_of(path):
                problem(
                    path,
                    f"the descriptor is RUNGS_OP({op}), the path requires RUNGS_OP({op_of(path)}): change one of them",
                )
            first = ops.setdefault(op, path)
            if first != path and op == op_of(path):
                problem(
                    path,
                    f"{first.resolve().relative_to(source).as_posix()} defines the op '{op}' too: remove one of them",
                )
    compiled = list(dict.fromkeys([*args.variants, *args.kernels]))
    for path in compiled:
        message = wrong_descriptor(path)
        if message:
            problem(path, message)
    for path in args.others:
        message = stray(path, path.parent.parent.resolve() == source / "impls")
        if message:
            problem(path, message)
    for path in args.misplaced:
        problem(path, f"a variant lies in the folder of its op: move it to {path.parent.name}/OP/{path.name}")
    for path in [*compiled, *args.peers]:
        if names.setdefault(identity(path), path) != path:
            problem(
                path,
                f"{names[identity(path)].resolve().relative_to(source).as_posix()} has the same name: rename one of them",
            )
    for folder in sorted({path.parent for path in [*compiled, *args.peers]}):
        if folder.name not in ops:
            near = difflib.get_close_matches(folder.name, ops, 1)
            problem(
                folder,
                f"no op '{folder.name}' ({'did you mean ' + near[0] + '?' if near else 'known: ' + ', '.join(sorted(ops))}): "
                f"rename the folder, or write reference/{folder.name}.c with RUNGS_OP({folder.name})",
            )
    return problems


def peer_descriptor(path):
    for node in ast.parse(path.read_text(), str(path)).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "VARIANT" for t in node.targets):
            try:
                return ast.literal_eval(node.value)
            except ValueError as error:
                fail(path, f"VARIANT must be a plain literal: {error}")
    fail(path, "no VARIANT dictionary")


def peer_source(path, symbol):
    d = peer_descriptor(path)
    for key in ("summary", "origin", "framework"):
        if not isinstance(d.get(key), str):
            fail(path, f"VARIANT['{key}'] must be a string")
    specs = []
    lines = []
    for i, t in enumerate(d.get("tunables", [])):
        choices = "NULL"
        if t["kind"] == "choice":
            choices = f"{symbol}_choices_{i}"
            lines.append(f"static const char *const {choices}[] = {{{', '.join(map(quote, t['choices']))}, NULL}};")
        specs.append(
            f"    {{{quote(t['name'])}, {quote(t['summary'])}, {KINDS[t['kind']]}, {quote(str(t['default']))}, "
            f"{float(t.get('min', 0))!r}, {float(t.get('max', 0))!r}, {choices}}},"
        )
    tunables = "NULL"
    if specs:
        tunables = f"{symbol}_tunables"
        lines += [f"static const ParamSpec {tunables}[] = {{", *specs, "    {0},", "};"]
    lines.append(
        f"static const Variant {symbol} = {{.backend = BACKEND_PEER, .summary = {quote(d['summary'])}, "
        f".origin = {quote(d['origin'])}, .tunables = {tunables}, .bound = {quote(d.get('bound'))}}};"
    )
    outputs = "NULL"
    if d.get("outputs"):
        outputs = f"{symbol}_outputs"
        lines.append(f"static const char *const {outputs}[] = {{{', '.join(map(quote, d['outputs']))}, NULL}};")
    return "\n".join(lines), d["framework"], bool(d.get("needs_gpu", False)), outputs


def table(args, variants, peers, emulated):
    """registry.c. emulated: the emulator's symbols for .cu files."""
    entries, declarations = [], []
    for path in variants:
        op, name = identity(path)
        symbol = f"rungs_{'emulated' if emulated and path.suffix == '.cu' else 'variant'}_{op}__{name}"
        backend = "BACKEND_CPU" if name.startswith("cpu_") else "BACKEND_CUDA"
        declarations.append(f"extern const Variant {symbol};")
        entries.append((f"{op}/{name}", op, path, backend, f"&{symbol}", None, False, "NULL"))
    for path in peers:
        op, name = identity(path)
        text, framework, needs_gpu, outputs = peer_source(path, f"peer_{op}__{name}")
        declarations.append(text)
        entries.append((f"{op}/{name}", op, path, "BACKEND_PEER", f"&peer_{op}__{name}", framework, needs_gpu, outputs))
    entries.sort()
    ops = sorted(op_of(path) for path in args.references if descriptors(path, "RUNGS_OP"))

    out = [
        "/* Generated by cmake/generate_registry.py from the paths of impls/ and reference/. */",
        '#include "plan/registry.h"',
        "",
    ]
    out += declarations + [f"extern const Op rungs_op_{op};" for op in ops]
    out += [
        "",
        "const Op *const REGISTRY_OPS[] = {",
        *[f"    &rungs_op_{op}," for op in ops],
        "    NULL,",
        "};",
        f"const int REGISTRY_OP_COUNT = {len(ops)};",
        "",
        "const VariantEntry REGISTRY_VARIANTS[] = {",
    ]
    for id_, op, path, backend, pointer, framework, needs_gpu, outputs in entries:
        relative = path.resolve().relative_to(args.source.resolve()).as_posix()
        out.append(
            f"    {{{quote(id_)}, {quote(op)}, {quote(relative)}, {backend}, {pointer}, {quote(framework)}, "
            f"{str(needs_gpu).lower()}, {outputs}}},"
        )
    out += [
        "    {NULL, NULL, NULL, BACKEND_CPU, NULL, NULL, false, NULL},",
        "};",
        f"const int REGISTRY_VARIANT_COUNT = {len(entries)};",
        "",
    ]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--emulated", action="store_true", help="the program leaves .cu files to the emulator")
    parser.add_argument("--emulator-out", type=pathlib.Path, help="the table of the emulator's programs, of --kernels")
    for name in ("variants", "peers", "kernels", "references", "others", "misplaced"):
        parser.add_argument(f"--{name}", type=pathlib.Path, nargs="*", default=[])
    args = parser.parse_args()
    problems = check(args)
    if problems:
        sys.exit("\n".join(problems))
    args.out.write_text(table(args, args.variants, args.peers, args.emulated))
    if args.emulator_out:
        args.emulator_out.write_text(table(args, args.kernels, [], emulated=True))


if __name__ == "__main__":
    main()
