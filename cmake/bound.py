"""`rungs try FILE.cu --op OP --call 'launcher(y, x, n, 256)'` or `--launch 'k<<<ceil(n/256), 256>>>(x, y, n)'`: a file as it is, bound to an op.

    bound.py TRIED FACTS    writes TRIED/bound/OP/FILE.cu, which includes the file and makes the call, and prints its path. FACTS: JSON of harness/cli/binding.c

The call stands in templates over the types of the op's arrays: the compiler says which dtypes it can be made with, and what is wrong with it where there
are none. The rest of the module, with the stream, is harness/bound.cu.
"""

import json
import pathlib
import re
import shlex
import sys

import modules
import program

TYPES = {
    "f32": "float",
    "f64": "double",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
}
NUMBERS = {"int": ("long long", "integer"), "real": ("double", "real")}
TEXT = "const char *", "text"  # others
COMMENT = re.compile(r"(?://|/\*|\*)\s*rungs:\s*(--.*?)\s*(?:\*/)?\s*$", re.MULTILINE)
FORMS = "--call 'launcher(y, x, n, 256)' or --launch 'k<<<ceil(n/256), 256>>>(x, y, n)'"
FIRST = "// rungs try: "


def from_comment(facts):
    """The call that the file names for this op in a comment: `// rungs: --op OP --call '...'`, without --op for any."""
    for found in COMMENT.finditer(pathlib.Path(facts["file"]).read_text(errors="replace")):
        words = shlex.split(found[1])
        given = dict(zip(words[::2], words[1::2]))
        if given.get("--op", facts["op"]) == facts["op"] and ("--call" in given) + ("--launch" in given) == 1:
            form = "call" if "--call" in given else "launch"
            return form, given[f"--{form}"]
    raise modules.Refused(f"{facts['file']}: no comment binds it to {facts['op']}: // rungs: {FORMS}")


def closing(text, start):
    """Where the bracket at start is closed."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    raise modules.Refused(f"{text}: a bracket is not closed")


def with_ratios(text):
    """ceil(a / b) is that of the quotient, of integers too."""
    at = 0
    while (found := re.compile(r"\bceil(?:f)?\s*\(").search(text, at)) is not None:
        at, end = found.end(), closing(text, found.end() - 1)
        inside, depth = text[at:end], 0
        for i, letter in enumerate(inside):
            depth += (letter in "([{") - (letter in ")]}")
            if letter == "/" and depth == 0:
                text = f"{text[: found.start()]}rungs_ceil_ratio({inside[:i]}, {inside[i + 1 :]}){text[end + 1 :]}"
                break
    return text


def plain_call(form, text):
    """The call as C++ without a launch, which has the same types; and the function's name."""
    found = re.fullmatch(r"(.+?)<<<(.*)>>>\s*(\(.*\))\s*;?\s*", text, re.DOTALL)
    if (found is None) == (form == "launch"):
        raise modules.Refused(f"--{form} '{text}': {FORMS} is expected")
    call = f"{found[1]}{found[3]}" if found else text.rstrip("; ")
    name = re.match(r"\s*(?:::)?\w+(?:::\w+)*", call)
    if name is None or not call.rstrip().endswith(")"):
        raise modules.Refused(f"--{form} '{text}': {FORMS} is expected")
    return call, name[0].strip()


def there_is(facts):
    by_dtype = [[TYPES[kind] for kind in kinds] for kinds in facts["dtypes"].values()]
    kinds = ["T" if len(set(column)) > 1 else column[0] for column in zip(*by_dtype)]
    arrays = ", ".join(f"{name} ({kind} *)" for name, kind in zip(facts["arrays"], kinds))
    numbers = ", ".join(f"{name} ({NUMBERS.get(kind, TEXT)[0]})" for name, kind in facts["numbers"])
    return f"{facts['op']} has the arrays {arrays}; {numbers}; stream; T is {' or '.join(TYPES[dtype] for dtype in facts['dtypes'])}"


def check_name(facts, form, text, name):
    """Is the function anywhere in the file, or may it be in one that it includes?"""
    source = re.sub(
        r"//[^\n]*|/\*.*?\*/", " ", pathlib.Path(facts["file"]).read_text(errors="replace"), flags=re.DOTALL
    )
    if re.search(rf"\b{name.split('::')[-1]}\b", source) or re.search(r'^\s*#\s*include\s*"', source, re.MULTILINE):
        return
    kernels = re.findall(r"__global__[^;{(]*?(?:__launch_bounds__\s*\([^()]*\)\s*)?\b(\w+)\s*\(", source)
    functions = re.findall(r"^[A-Za-z][\w:<>,&* ]*?[ *&](\w+)\s*\([^;{}]*\)\s*\{", source, re.MULTILINE)
    known = sorted(set(kernels) | {word for word in functions if word not in ("main", "if", "for", "while", "switch")})
    raise modules.Refused(
        f"--{form} '{text}': {facts['file']} has no `{name}`; it has {', '.join(known) or 'no function'}"
    )


def source_of(facts, form, text):
    """The file that includes the user's and makes the call."""
    call, name = plain_call(form, text)
    check_name(facts, form, text, name)
    arrays, numbers = facts["arrays"], facts["numbers"]
    types = [f"rungs_type_{array}" for array in arrays]
    head = ", ".join(["T", *types])
    left = ["cudaStream_t stream", *(f"{kind} *{array}" for kind, array in zip(types, arrays))]
    left += [f"{NUMBERS.get(kind, TEXT)[0]} {number}" for number, kind in numbers]
    given = [f"bound->{NUMBERS.get(kind, TEXT)[1]}[{i}]" for i, (_, kind) in enumerate(numbers)]
    pointers = [f"static_cast<{kind} *>(bound->array[{i}])" for i, kind in enumerate(types)]
    parameters = f"template <typename {head.replace(', ', ', typename ')}>"
    here = f'\n#line 1 "--{form}"\n{{}}\n#line 1 "bound"\n'
    dtypes = sorted(facts["dtypes"], key=lambda dtype: dtype != "f32")  # the first is that of messages
    kinds = {dtype: ", ".join(TYPES[kind] for kind in [dtype, *facts["dtypes"][dtype]]) for dtype in dtypes}
    nulls = {
        dtype: ", ".join(
            ["nullptr", *(f"static_cast<{TYPES[kind]} *>(nullptr)" for kind in facts["dtypes"][dtype])]
            + ["0"] * len(numbers)
        )
        for dtype in dtypes
    }
    takes = [
        f"constexpr bool rungs_takes_{dtype} =\n"
        f"    std::is_same<decltype(rungs_fits<{kinds[dtype]}>({nulls[dtype]}, 0)), bool>::value;"
        for dtype in dtypes
    ]
    fill = "".join(
        f"    if (rungs_takes_{dtype}) types.taken[count++] = {facts['values'][dtype]};\n" for dtype in dtypes
    )
    any_taken = " || ".join(f"rungs_takes_{dtype}" for dtype in dtypes)
    cases = "".join(
        f"    if (bound->dtype == {facts['values'][dtype]})\n"
        f"        return rungs_call<rungs_takes_{dtype} || !({any_taken}), {kinds[dtype]}>(bound);\n"
        for dtype in dtypes
    )
    said = {"flags": facts["flags"], "op": facts["op"], "form": form, "there": there_is(facts)}
    said["text"] = f"{text} in {pathlib.Path(facts['file']).name}"
    return f"""{FIRST}{json.dumps(said)}
#include "bound.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "{facts["file"]}"

{parameters}
static auto rungs_fits({", ".join(left)}, int) -> decltype((void)({here.format(with_ratios(call))}), true) {{ return true; }}
{parameters} static char rungs_fits({", ".join(left)}, long) {{ return 0; }}
{parameters}
static cudaError_t rungs_make({", ".join(left)}) {{
    return ({here.format(with_ratios(text.rstrip("; ")))}, RungsBoundDone()).error;
}}
template <bool taken, typename {head.replace(", ", ", typename ")}> static cudaError_t rungs_call(const RungsBound *bound) {{
    if constexpr (taken)
        return rungs_make<{head}>({", ".join(["bound->stream", *pointers, *given])});
    else
        return cudaErrorInvalidValue;
}}
{chr(10).join(takes)}
constexpr RungsBoundTypes rungs_list() {{
    RungsBoundTypes types = {{}};
    int count = 0;
{fill}    types.taken[count] = {facts["values"]["none"]};
    return types;
}}
extern "C" const RungsBoundTypes rungs_bound_types = rungs_list();
extern "C" cudaError_t rungs_bound_run(const RungsBound *bound) {{
{cases}    return cudaErrorInvalidValue;
}}
"""


def is_bound(project, source):
    return project.other is not None and source.parent.parent == project.other.resolve() / "bound"


def first_error(form, output):
    """The compiler's, with what it says of the function that was meant."""
    said = modules.first_error(output)
    lines = output.splitlines()
    at = next((i for i, line in enumerate(lines) if said in line), 0)
    notes = [line for line in lines[at + 1 :] if re.search(r"note: candidate.*(not viable|ignored)", line)]
    more = [re.sub(r".*note: candidate (function|template)( template)?", "it is", note) for note in notes[:1]]
    more += [line.strip() for line in lines[at + 1 : at + 2] if "types are" in line]  # nvcc's
    return re.sub(rf"^--{form}[:(]\d+(:\d+)?\)?:", f"--{form}:", "; ".join([said, *more]))


def compile_file(facts, argv, to):
    form = facts["form"]
    try:
        return modules.run(argv, modules.COMPILE_SECONDS, error=lambda output: first_error(form, output), to=to)
    except modules.Refused as error:
        raise modules.Refused(f"{error}; {facts['there']}" if f"--{form}" in str(error) else f"{error}") from None


def objects(project, source, kind, to):
    """The file's object and the descriptor's, and the files that they were made of."""
    facts = json.loads(source.read_text().split("\n", 1)[0][len(FIRST) :])
    made, flags = to / "bound.o", facts["flags"]
    if kind == "native":
        kept = [word for word in project.compiler("cu") if not word.startswith(("-I", "-W", "-Xcompiler=-W", "-std="))]
        standard = [] if any(flag.startswith("-std") for flag in flags) else ["-std=c++17"]
        argv = [
            *kept,
            *standard,
            *flags,
            "-isystem",
            project.harness,
            "-w",
            "-Xcompiler=-fPIC,-fvisibility=hidden,-ffunction-sections",
        ]
        compile_file(facts, [*argv, "-MMD", "-MF", f"{made}.d", "-c", source, "-o", made], to)
        shims = re.findall(
            r"^cudaError_t rungs_bound_(\w+)\(", (project.harness / "bound.cu").read_text(), re.MULTILINE
        )
        renamed = [word for name in shims for word in ("--redefine-sym", f"{name}=rungs_bound_{name}")]
        modules.run([project.settings["objcopy"], *renamed, made], modules.COMPILE_SECONDS)
    else:
        compiler = program.Compiler(project, flags)
        text = compiler.text(source, f"{made}.d", ())
        compiler.object_of(
            text.rewritten(), kind, made, ["-ffunction-sections"], lambda argv: compile_file(facts, argv, to)
        )
    files = [path for path in project.dependencies(made, pathlib.Path.cwd()) if path.exists()]  # nvcc: `#line` too
    own, more = project.compile(
        project.harness / "bound.cu",
        kind,
        "bound_descriptor",
        to,
        [f"-DRUNGS_BOUND_OP={facts['op']}", f"-DRUNGS_BOUND_TEXT={json.dumps(facts['text'])}"],
    )
    return [made, own], [*files, *more]


def from_here(flags):
    """Their folders and files as they are called from anywhere."""
    kept = []
    for flag in flags:
        if kept and kept[-1] in ("-I", "-isystem", "-include"):
            flag = str(pathlib.Path(flag).resolve())
        elif flag.startswith("-I") and flag != "-I":
            flag = f"-I{pathlib.Path(flag[2:]).resolve()}"
        kept.append(flag)
    return kept


def main():
    tried, facts = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
    form, text = (facts["form"], facts["text"]) if facts["form"] else from_comment(facts)
    facts["flags"] = from_here(program.Arguments(facts["flags"]).flags)
    made = tried / "bound" / facts["op"] / f"{pathlib.Path(facts['file']).stem}.cu"
    source = source_of(facts, form, text)
    made.parent.mkdir(parents=True, exist_ok=True)
    if not made.exists() or made.read_text() != source:
        modules.replace(made, source)
    print(made, end="")


if __name__ == "__main__":
    modules.end_of(main)
