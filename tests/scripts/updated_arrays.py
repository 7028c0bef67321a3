"""An op whose array is updated in place, y += a x, for test_project.py: in C (the template's axpy) and in Python; variants that are right and wrong, and files
for `try` and `score`."""

REFERENCE = '''"""y[i] += a x[i]"""

PARAMS = {"n": 1009, "a": 0.7}
INPUTS = {"x": "n", "y": "n"}
OUTPUTS = {"y": "n"}
DTYPES = ["f32", "f64"]
FAMILIES = ["uniform", "normal", "ones"]
BOUND = "elementwise"

def reference(case, inputs):
    return case.a * inputs["x"] + inputs["y"]
'''
CPU = """#include "variant.h"

static double *kept;

static Status prepare(const VariantArgs *args, void **state) {
    kept = args->out[0].data, *state = &kept;
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    const double a = params_real(&args->problem->params, "a"), *x = args->in[0].data;
    double *y = args->out[0].data;
    const size_t n = array_count(&args->out[0]);
    BEFORE
    if (args->out[0].data != args->in[1].data) return status_fail(STATUS_INTERNAL, "two arrays");
    for (size_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
    return STATUS_OK;
}

RUNGS_VARIANT(OP, NAME) = {
    .backend = BACKEND_CPU, .summary = "a loop", .origin = "a test", .dtypes = (const DType[]){DTYPE_F64, DTYPE_COUNT}, .prepare = prepare, .run = run};
"""
WRONG = {  # what stands in the variant, what stands there instead, what is said; None: it passes
    "loop": ("BEFORE", "", None),
    "twice": ("y[i] = a * x[i] + y[i];", "y[i] = a * x[i] + y[i], y[i] += a * x[i];", "y["),
    "short": ("i < n;", "i + 1 < n;", "y[1008] is"),
    "beyond": ("BEFORE", "y[n] = 1;", "y f64[1009]: written past its end"),
    "seldom": ("BEFORE", "if (y != kept) return STATUS_OK;", "array y: a call did not update it"),
    "address": ("*y = args->out[0].data", "*y = kept", "hot sample"),
    "input": ("BEFORE", "((double *)args->in[0].data)[0] = 0;", "input x"),
}
CUDA = """#include "kernel.h"
#include "variant.h"

static __global__ void update(double a, const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->out[0]);
    if (n == 0) return STATUS_OK;
    return launch(update, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, params_real(&args->problem->params, "a"),
                  static_cast<const double *>(args->in[0].data), static_cast<double *>(args->out[0].data), n);
}

static const DType TYPES[] = {DTYPE_F64, DTYPE_COUNT};
RUNGS_VARIANT(OP, cuda_naive) = {
    .backend = BACKEND_CUDA, .summary = "one thread an element", .origin = "a test", .dtypes = TYPES, .run = run};
"""
PEER = '''"""NumPy returns a new array."""

VARIANT = {"summary": "a x + y", "origin": "NumPy", "framework": "numpy"}

def supports(case, tunables):
    return None

def prepare(case, tunables, shapes):
    return float(case["params"]["a"])

def run(state, inputs):  # timed
    return inputs["x"].dtype.type(state) * inputs["x"] + inputs["y"]
'''
PASTED = """__global__ void update(long n, float a, const float *x, float *y) {
    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


def write(root):
    """Adds the ops updated_c (of reference/axpy.c) and updated."""
    axpy = (root / "reference/axpy.c").read_text()
    (root / "reference/updated_c.c").write_text(
        axpy.replace("axpy", "updated_c").replace('array_1d("z"', 'array_1d("y"')
    )
    (root / "reference/updated.py").write_text(REFERENCE)
    for op in ("updated", "updated_c"):
        place = root / "impls" / op
        place.mkdir()
        for name, (old, new, _) in WRONG.items():
            (place / f"cpu_{name}.c").write_text(
                CPU.replace(old, new).replace("BEFORE", "").replace("OP, NAME", f"{op}, cpu_{name}")
            )
        (place / "cuda_naive.cu").write_text(CUDA.replace("(OP", f"({op}"))
        (place / "peer_numpy.py").write_text(PEER)
    (root / "update.cu").write_text(PASTED)
