/* Idea: Hillis and Steele. A begin kernel makes every element a state of its own. Stage k merges each state with the one 2^k
 *   before it, from one array into another and back, for k = 0 .. ceil(log2 n) - 1. An end kernel turns states into outputs. One
 *   thread per element in every kernel, ceil(log2 n) + 2 kernels in all. Its work is n log2 n merges, where the block scan needs
 *   about 3n.
 * Traffic: n reads and one state written (begin); 2 reads and 1 write of a state (16 to 80 bytes) per element and stage; one
 *   state read and n writes (end). At n = 1e8 in the cheapest mode: 27 stages of 4.8 GB.
 * Rounding: trees of depth log2(n); doubles for both dtypes.
 * Limits: two states for every element must fit into memory: 32 n bytes in the cheapest mode, 160 n in the most general.
 * Origin: Hillis and Steele 1986 ("Data parallel algorithms"), as the log-stage recurrences of PyTorch users do it; the affine
 *   operator by Blelloch 1990. */
#include "_shared.cuh"

enum { THREADS_MAX = 1024 };

/* states[i]: element i alone. */
template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) begin_kernel(EwmView<T> view, State *states) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= view.rule.n) return;
    State state;
    state.push(view.rule, (double)view.x[i], view.begins(i));
    states[i] = state;
}

/* Before: in[i] covers elements i - distance + 1 .. i; after: out[i] covers twice as many. */
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

/* After the last stage states[i] covers elements 0 .. i. */
template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) end_kernel(EwmView<T> view, const State *states) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.rule.n) view.y[i] = (T)states[i].output(view.rule, i);
}

static Status run(const VariantArgs *args) {
    if (array_count(&args->in[0]) == 0) return STATUS_OK;
    return ewm_with_types(args, [args]<typename T, typename State>() {
        const EwmView<T> view = ewm_view<T>(args);
        const size_t n = view.rule.n;
        const LaunchShape shape = {dim3((unsigned)divide_up(n, tunable_threads(args))), dim3(tunable_threads(args)), 0,
                                   args->stream};
        State *from = (State *)args->scratch, *to = from + n;
        TRY(launch(begin_kernel<T, State>, shape, view, from));
        for (size_t distance = 1; distance < n; distance *= 2) {
            TRY(launch(stage_kernel<State>, shape, (const State *)from, to, n, distance));
            State *const swap = from;
            from = to;
            to = swap;
        }
        return launch(end_kernel<T, State>, shape, view, (const State *)from);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return ewm_fits_grid(args, tunable_threads(args), reason);
}

static size_t scratch_bytes(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    return 2 * rule.n * ewm_state_bytes(rule);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "256", 1, THREADS_MAX, NULL},
    {},
};

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(ewm, cuda_log_stage) = {
    .backend = BACKEND_CUDA,
    .summary = "Hillis and Steele: log2(n) kernels, each joins states 2^k apart",
    .origin = "Hillis and Steele 1986; Blelloch 1990",
    .tunables = TUNABLES,
    .accumulates = ACCUMULATES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
