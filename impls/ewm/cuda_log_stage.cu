/* Idea: Hillis and Steele. Every element starts as a state of its own; stage k joins each with the one 2^k before it, log2(n)
 * kernels in all, from one array into another and back.
 * Traffic: 2 reads and 1 write of a state (16 to 80 bytes) for every element and stage; n reads and n writes.
 * Rounding: trees of depth log2(n); doubles for both dtypes.
 * Limits: two states for every element must fit into memory: 32 n bytes in the cheapest mode.
 * Origin: Hillis and Steele 1986 ("Data parallel algorithms"), as the log-stage recurrences of PyTorch users do it; the affine
 *   operator by Blelloch 1990. */
#include "common/ewm/kernels.cuh"

enum { THREADS_MAX = 1024 };

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "256", 1, THREADS_MAX, NULL},
    {},
};

template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) begin_kernel(EwmView<T> view, State *states) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= view.rule.n) return;
    State state;
    state.push(view.rule, (double)view.x[i], view.begins(i));
    states[i] = state;
}

template <typename State>
static __global__ void __launch_bounds__(THREADS_MAX) stage_kernel(const State *in, State *out, size_t n, size_t distance) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State state = in[i];
    if (i >= distance) {
        State before = in[i - distance];
        before.merge(state);
        state = before;
    }
    out[i] = state;
}

template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) end_kernel(EwmView<T> view, const State *states) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.rule.n) view.y[i] = (T)states[i].output(view.rule, i);
}

static unsigned threads_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}

namespace { /* every variant has its own Kernels */
template <typename T, typename State> struct Kernels {
    static Status launch_on(const VariantArgs *args, EwmView<T> view) {
        const size_t n = view.rule.n;
        const dim3 grid((unsigned)divide_up(n, threads_of(args))), block(threads_of(args));
        State *from = (State *)args->scratch, *to = from + n;
        TRY(launch(begin_kernel<T, State>, {grid, block, 0, args->stream}, view, from));
        for (size_t distance = 1; distance < n; distance *= 2) {
            TRY(launch(stage_kernel<State>, {grid, block, 0, args->stream}, (const State *)from, to, n, distance));
            State *const swap = from;
            from = to;
            to = swap;
        }
        return launch(end_kernel<T, State>, {grid, block, 0, args->stream}, view, (const State *)from);
    }
};
} // namespace

static size_t scratch_bytes(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    return 2 * rule.n * ewm_state_bytes(&rule);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return ewm_fits_grid(args, threads_of(args), reason);
}

static Status run(const VariantArgs *args) {
    return ewm_dispatch<Kernels>(args);
}

RUNGS_VARIANT(ewm, cuda_log_stage) = {
    .backend = BACKEND_CUDA,
    .summary = "Hillis and Steele: log2(n) kernels, each joins states 2^k apart",
    .origin = "Hillis and Steele 1986; Blelloch 1990",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
