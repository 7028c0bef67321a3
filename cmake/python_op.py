"""The descriptor of an op whose reference is in Python (docs/ADDING_AN_OP.md): python_op.py reference/OP.py OUT/reference/OP.c

Reads the constants of the file without running it; harness/device/reference_worker.py runs it.
"""

import ast
import hashlib
import json
import pathlib
import re
import sys

INTEGERS = ("i32", "i64", "u8")
DTYPES = ("f32", "f64", "f16", "bf16")
BOUNDS = {
    "elementwise": "running error of the operations of reference()",
    "reduction": "running error of the operations of reference(), sums in any order",
    "dot": "running error of the operations of reference(), sums of products in any order",
    "softmax": "running error of the operations of reference(), sums in any order, exp to 4 + 2.4 |x| u",
    "own": "bound() of the op",
    "derived": "bound() of the op: running error of Model's operations, sums in any order",
    "estimated": "bound() of the op: not derived, 8 times the spread of Model over orders of sums and roundings",
    "check": "check() of the op: no single answer",
}
OWN = ("own", "derived", "estimated")  # by bound(); the last two of problems of KernelBench (kernelbench.py)
KNOWN = {"PARAMS", "INPUTS", "OUTPUTS", "FAMILIES", "BOUND", "DTYPES", "FLOPS", "PRECISION"}
NAME = re.compile(r"[A-Za-z_]\w*")
C = """/* Made of reference/{op}.py by cmake/python_op.py: {hash}. */
#include "python_op.h"

#include <stdio.h>

static const ParamSpec PARAMS[] = {{{params}{{0}}}};
static const DType DTYPES[] = {{{dtypes}, DTYPE_COUNT}};
static const char *const FAMILIES[] = {{{families}, NULL}};
static const Bound BOUNDS[] = {{{{{bound}, {formula}}}, {{NULL, NULL}}}};

static Status shapes(const Case *problem, Array *in, Array *out) {{
{shapes}    return STATUS_OK;
}}

static Status set_size(Case *problem, const char *name, const Array *array, int axis) {{
    char text[32];
    snprintf(text, sizeof text, "%zu", array->shape[axis]);
    return params_set(&problem->params, name, text);
}}

static Status adopt(const Array *in, Case *problem) {{
    static const char *const NAMES[] = {{{names}}};
    static const int RANKS[] = {{{ranks}}};
    for (int i = 0; i < {in_count}; i++)
        if (in[i].rank != RANKS[i])
            return status_fail(STATUS_INVALID, "input '%s': an array of %d dimensions is expected", NAMES[i], RANKS[i]);
    problem->dtype = in[0].dtype;
{adopt}    return STATUS_OK;
}}

static Work work(const Case *problem) {{
    Array in[{in_count}], out[{out_count}];
    Work sum = {{0}};
    (void)shapes(problem, in, out);
    for (int i = 0; i < {in_count}; i++) sum.bytes += (double)array_bytes(&in[i]);
    for (int i = 0; i < {out_count}; i++) sum.bytes += (double)array_bytes(&out[i]);
    sum.elements = (double)array_count(&out[0]);
    sum.flops = {flops};
    return sum;
}}

RUNGS_OP({op}) = {{
    .name = "{op}",
    .summary = {summary},
    .params = PARAMS,
    .dtypes = DTYPES,
    .families = FAMILIES,
    .bounds = BOUNDS,
    .in_count = {in_count},
    .out_count = {out_count},
    .shapes = shapes,
    .adopt = adopt,
    .work = work,
}};
RUNGS_PYTHON_OP({op}, {file}, {float64}, {generates});
"""


class Wrong(Exception):
    pass


def expect(good, words):
    if not good:
        raise Wrong(words)


def constants(tree):
    found = {}
    for node in tree.body:
        name = node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None
        if name in KNOWN:
            try:
                found[name] = ast.literal_eval(node.value)
            except ValueError:
                raise Wrong(f"{name} is read without running the file: write it with plain values only") from None
    return found


def spec(name, given):
    """{"C": 768} or {"C": (768, least, most)} or {"mode": ["a", "b"]}, the first being the default."""
    expect(NAME.fullmatch(name) is not None, f"PARAMS: '{name}' is no name")
    if isinstance(given, list):
        choices = ", ".join(map(json.dumps, given))
        return f"{{{json.dumps(name)}, NULL, PARAM_CHOICE, {json.dumps(given[0])}, 0, 0, (const char *const[]){{{choices}, NULL}}}}, "
    values = given if isinstance(given, tuple) else (given, 0, 1e12) if isinstance(given, int) else (given, -1e38, 1e38)
    expect(
        len(values) == 3 and all(isinstance(value, (int, float)) for value in values),
        f"PARAMS: {name}: expected a default, (default, least, most) or a list of words",
    )
    kind = "INT" if isinstance(values[0], int) else "REAL"
    return f'{{{json.dumps(name)}, NULL, PARAM_{kind}, "{values[0]!r}", {values[1]!r}, {values[2]!r}, NULL}}, '


def expression(text, params, as_double):
    """An expression of parameters as one in C."""
    expect(re.fullmatch(r"[\w.+*/() -]+", text) is not None, f"'{text}' is no expression of parameters")
    for name in NAME.findall(re.sub(r"\d[\w.]*", "", text)):
        expect(name in params, f"'{text}': there is no parameter {name}; there is {', '.join(params) or 'none'}")
        expect(not isinstance(params[name], list), f"'{text}': {name} is no number")

    def value(name):
        first = params[name][0] if isinstance(params[name], tuple) else params[name]
        read = "int" if isinstance(first, int) else "real"
        return f'({"double" if as_double else "size_t"})params_{read}(&problem->params, "{name}")'

    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda found: value(found[0]), text)


def sizes(dims):
    return [word for word in dims.split() if word not in INTEGERS]


def type_of(dims):
    """Of outputs that check() judges: "rows k i32"."""
    found = next((word for word in dims.split() if word in INTEGERS), None)
    return f"DTYPE_{found.upper()}" if found else "problem->dtype"


def arrays(which, given, params):
    """[(name, dims)]."""
    expect(
        isinstance(given, dict) and 1 <= len(given) <= 8,
        f'{which}: a dictionary {{name: "sizes"}} of 1 to 8 is expected',
    )
    for name, dims in given.items():
        expect(NAME.fullmatch(name) is not None and len(name) < 32, f"{which}: '{name}' is no name")
        expect(
            isinstance(dims, str) and 1 <= len(sizes(dims)) <= 4,
            f'{which}: {name}: 1 to 4 sizes are expected, as in "B T C"',
        )
    return [(name, sizes(dims)) for name, dims in given.items()]


def shapes_text(which, listed, params, given):
    text = ""
    for i, (name, dims) in enumerate(listed):
        shape = ", ".join(expression(dim, params, False) for dim in dims)
        dtype = type_of(given[name])
        text += f'    {which}[{i}] = (Array){{.name = "{name}", .dtype = {dtype}, .rank = {len(dims)}, .shape = {{{shape}}}}};\n'
    return text


def adopt_text(inputs, params):
    text, seen = "", set()
    for i, (_, dims) in enumerate(inputs):
        for axis, dim in enumerate(dims):
            if dim in params and dim not in seen:
                seen.add(dim)
                text += f'    TRY(set_size(problem, "{dim}", &in[{i}], {axis}));\n'
    return text


def descriptor(op, text, file=None):
    """file: where it lies, if that is not reference/ of a project."""
    tree = ast.parse(text)
    found = constants(tree)
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    missing = [name for name in ("INPUTS", "OUTPUTS", "FAMILIES", "BOUND") if name not in found]
    expect(not missing, f"{', '.join(missing)} is missing")
    params, bound = found.get("PARAMS", {}), found["BOUND"]
    expect(
        (bound == "check") == ("check" in functions),
        'BOUND = "check" and def check(case, inputs, outputs) go together',
    )
    expect(bound == "check" or "reference" in functions, "def reference(case, inputs) is missing")
    dtypes = found.get("DTYPES", ["f32"])
    expect(bound in BOUNDS, f"BOUND is {bound!r}; expected {', '.join(BOUNDS)}")
    expect(
        (bound in OWN) == ("bound" in functions), 'BOUND = "own" and def bound(case, inputs, outputs, u) go together'
    )
    expect(dtypes and set(dtypes) <= set(DTYPES), f"DTYPES: expected some of {', '.join(DTYPES)}")
    expect(found.get("PRECISION") in (None, "float64"), 'PRECISION: "float64" is expected, or nothing')
    inputs, outputs = (arrays(which, found[which], params) for which in ("INPUTS", "OUTPUTS"))
    own = [
        name for name in found["INPUTS"] if found["INPUTS"][name] != found["OUTPUTS"].get(name, found["INPUTS"][name])
    ]
    expect(not own, f"{own and own[0]}: an array that is updated in place has the same sizes in INPUTS and OUTPUTS")
    whole = [
        name for which in ("INPUTS", "OUTPUTS") for name in found[which] if "DTYPE_" in type_of(found[which][name])
    ]
    wrong = [name for name in whole if bound != "check" or name in found["INPUTS"]]
    expect(not wrong, f'{wrong and wrong[0]}: integers are possible in outputs that check() judges (BOUND = "check")')
    summary = (ast.get_docstring(tree) or op).strip().splitlines()[0]
    flops = str(found.get("FLOPS", ""))
    return C.format(
        op=op,
        hash=hashlib.sha256(text.encode()).hexdigest()[:16],
        summary=json.dumps(summary, ensure_ascii=False),
        params="".join(spec(name, given) for name, given in params.items()),
        dtypes=", ".join(f"DTYPE_{dtype.upper()}" for dtype in dtypes),
        families=", ".join(map(json.dumps, found["FAMILIES"])),
        bound=json.dumps(bound),
        formula=json.dumps(BOUNDS[bound]),
        shapes=shapes_text("in", inputs, params, found["INPUTS"])
        + shapes_text("out", outputs, params, found["OUTPUTS"]),
        names=", ".join(f'"{name}"' for name, _ in inputs),
        ranks=", ".join(str(len(dims)) for _, dims in inputs),
        adopt=adopt_text(inputs, params),
        flops=expression(flops, params, True) if flops else "sum.elements",
        in_count=len(inputs),
        out_count=len(outputs),
        float64="true" if found.get("PRECISION") else "false",
        generates="true" if "generate" in functions else "false",
        file=json.dumps(file or f"reference/{op}.py"),
    )


def main():
    source, made = map(pathlib.Path, sys.argv[1:])
    try:
        expect(re.fullmatch(r"[a-z][a-z0-9_]*", source.stem) is not None, "an op's name is of a-z, 0-9 and _")
        text = descriptor(source.stem, source.read_text(encoding="utf-8"))
    except (Wrong, SyntaxError) as error:
        print(f"reference/{source.name}: {error}", file=sys.stderr)
        sys.exit(1)
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
