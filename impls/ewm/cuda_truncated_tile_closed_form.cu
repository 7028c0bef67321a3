/* Idea: the published tile (cuda_truncated_tile) for every mode. As published, a block stages the inputs of 64 threads x 48
 *   outputs and the window of 10 spans before them: what is older has q^(10 span) = 2e-9 of the weight. A thread sums the window
 *   of its first output; every further output decays the sum, adds one element and drops the one that leaves. Four things
 *   differ:
 *   - the sum of the weights has a closed form: it is not accumulated, and an output costs one division where the published
 *     update has two. What leaves the window is dropped with the constant factor q^window.
 *   - elements are staged and summed in the dtype of the case: half the shared memory in f32.
 *   - the staging loop has one barrier, not one for each of its `tile` turns, and the block may have 227 KiB of shared memory.
 *   - variances, and means of blocks that hold a NaN if nan=decay, come from the state of the scans (_shared.cuh): a thread
 *     pushes the window of its first output and goes on from there. Segments and adjust=false are part of the running sum.
 * Traffic: 1 + window / (threads tile) reads and 1 write per output. Shared memory: window / tile + 2 reads per output; the
 *   lanes of a warp read one tile apart, so an even tile makes their banks conflict (tile=47 does not) and stores are not
 *   coalesced.
 * Rounding: in the dtype of the case; what leaves is subtracted. Hence, and for what is left out, the bound "truncated". An inf
 *   or NaN is forgotten when it leaves the window, or leaves a NaN behind when it is dropped: where there is one, this fails.
 * Limits: window + threads tile inputs must fit into 227 KiB: span <= 2598 in f64, 5504 in f32. min_periods <= 10 span, and
 *   counted within the window: with NaN inputs it may not be reached. If all elements of a window are NaN, the value before is
 *   lost; if all but one are, a variance is. Sums overflow where |x| / alpha is beyond the dtype: in f32 above 3.4e38.
 * Origin: "Adding the rolling and ewm functions to cuDF" (class Ewm; segments as in the later PEwm); closed form and modes are
 *   ours. */
#include "_shared.cuh"
#include "common/device_limits.cuh"

struct ClosedWindow {
    unsigned length; /* elements, the present one included */
    unsigned tile;
    double dropped; /* q^length */
    double sum;     /* of the weights, times alpha */
};

/* A thread's outputs: the index of the first, and its element and mark in shared memory. */
template <typename T> struct Place {
    size_t first;
    unsigned count, history; /* outputs; elements of the array before the first, at most length - 1 */
    const T *x;
    const unsigned char *starts; /* NULL: one series */
};

/* The sum of the last `terms` elements of one series: num = sum q^j x[i-j]; with adjust=false its first weighs 1, not alpha. */
template <typename T> struct RunningSum {
    T num = 0, surplus = 0; /* surplus: q^(k+1) times the first element, k elements before; 0 once it is dropped */
    unsigned terms = 0;
    __device__ void enter(T q, T x, bool first) {
        num = first || q == 0 ? x : num * q + x;
        surplus = first ? x * q : surplus * q;
        terms = first ? 1 : terms + 1;
    }
    __device__ void drop(T dropped, T x) {
        if (dropped > 0) num -= dropped * x;
        surplus = 0;
        terms--;
    }
    __device__ T output(const EwmCase &rule, const ClosedWindow &window) const {
        if (terms < rule.min_periods) return (T)rule.incomplete;
        if (!rule.adjust) return (T)rule.alpha * num + (rule.q > 0 ? surplus : 0);
        const double sum = terms == window.length ? window.sum : -expm1(terms * rule.log_q);
        return num * (T)(rule.alpha / sum);
    }
};

template <typename T> __device__ void update_running(const EwmView<T> &view, const ClosedWindow &window, const Place<T> &place) {
    const T q = (T)view.rule.q, dropped = (T)window.dropped;
    const size_t begin = place.first - place.history;
    const T *entering = place.x - place.history;
    const unsigned char *marks = place.starts ? place.starts - place.history : NULL;
    RunningSum<T> sum;
    for (unsigned j = 0; j <= place.history; j++) sum.enter(q, entering[j], marks ? begin + j == 0 || marks[j] : begin + j == 0);
    view.y[place.first] = sum.output(view.rule, window);
    for (unsigned k = 1; k < place.count; k++) {
        sum.enter(q, place.x[k], place.starts && place.starts[k]);
        if (sum.terms > window.length) sum.drop(dropped, *(place.x + k - window.length));
        view.y[place.first + k] = sum.output(view.rule, window);
    }
}

/* A factor below which weights no longer change a result. */
constexpr double FADED = 0x1p-64;

/* The decay from the last observation before element `begin` up to the element before it: 1 if that is the observation; a cut if
 * its series has none, or none that still counts. */
template <typename T> __device__ double decay_before(const EwmView<T> &view, size_t begin) {
    double decay = 1;
    for (size_t j = begin; j > 0 && !(view.starts && view.starts[j]); j--) {
        if (view.x[j - 1] == view.x[j - 1]) return decay;
        decay *= view.rule.q;
        if (!(decay > FADED * view.rule.alpha)) break;
    }
    return affine_cut<double>();
}

/* EwmRestarted weights the first observation of a window by the gap before it; that gap may begin outside of the window. Once the
 * observation is pushed, its weight is final, because no run will be merged before this one. The other states need neither. */
template <typename State, typename T> __device__ void look_back(State &, const EwmView<T> &, size_t) {}
template <typename Bag, typename T> __device__ void look_back(EwmRestarted<Bag> &state, const EwmView<T> &view, size_t begin) {
    state.lead = decay_before(view, begin);
}
template <typename State> __device__ void forget_earlier(State &) {}
template <typename Bag> __device__ void forget_earlier(EwmRestarted<Bag> &state) {
    if (state.count != 1 || state.share == 0 || affine_is_cut(state.lead)) return;
    state.rest.add(state.first, state.alpha / (state.lead + state.alpha));
    state.share = 0;
}

template <typename State, typename T> __device__ void update_state(const EwmView<T> &view, const Place<T> &place) {
    const size_t begin = place.first - place.history;
    const T *x = place.x - place.history;
    const unsigned char *marks = place.starts ? place.starts - place.history : NULL;
    State state;
    look_back(state, view, begin);
    for (unsigned j = 0; j < place.history + place.count; j++) {
        state.push(view.rule, (double)x[j], begin + j == 0 || (marks && marks[j]));
        forget_earlier(state);
        if (j >= place.history) view.y[begin + j] = (T)state.output(view.rule, begin + j);
    }
}

/* elements[j] = x[first + j - before], and the marks likewise; what lies outside the array stays unset. Returns whether the block
 * staged a NaN. */
template <typename T>
__device__ bool stage(const EwmView<T> &view, size_t first, unsigned before, unsigned outputs, T *elements, unsigned char *marks) {
    bool nan = false;
    for (unsigned j = threadIdx.x; j < before + outputs; j += blockDim.x) {
        const size_t shifted = first + j;
        if (shifted < before || shifted - before >= view.rule.n) continue;
        const T x = view.x[shifted - before];
        elements[j] = x;
        if (view.starts) marks[j] = view.starts[shifted - before];
        nan |= !(x == x);
    }
    return __syncthreads_or(nan) != 0;
}

/* Shared memory: window - 1 elements before the block, threads x tile elements of the block, and as many marks. */
template <typename T, typename State, bool MEAN>
static __global__ void __launch_bounds__(1024) truncated_tile_kernel(EwmView<T> view, ClosedWindow window) {
    const unsigned before = window.length - 1, outputs = blockDim.x * window.tile, own = threadIdx.x * window.tile;
    const size_t block_first = (size_t)blockIdx.x * outputs, first = block_first + own;
    DYN_SHARED(T, elements);
    unsigned char *const marks = (unsigned char *)(elements + before + outputs);
    const bool nan = stage(view, block_first, before, outputs, elements, marks);
    if (first >= view.rule.n) return;
    const unsigned count = view.rule.n - first < window.tile ? (unsigned)(view.rule.n - first) : window.tile;
    const unsigned history = first < before ? (unsigned)first : before;
    const Place<T> place = {first, count, history, elements + before + own, view.starts ? marks + before + own : NULL};
    if constexpr (MEAN) {
        if (!nan || !view.rule.nan_decays) {
            update_running(view, window, place);
            return;
        }
    }
    update_state<State>(view, place);
}

/* 10 spans, but no more than there are elements. */
static size_t window_of(const EwmCase *rule) {
    const double length = ewm_window_length(rule);
    return length < (double)rule->n ? (size_t)length : rule->n;
}

static size_t shared_bytes(const VariantArgs *args, const EwmCase *rule) {
    const size_t count = (size_t)tunable_threads(args) * tunable_tile(args) + window_of(rule) - 1;
    return count * (dtype_size(args->problem->dtype) + (rule->segments ? 1 : 0));
}

template <typename State> constexpr bool OF_MEAN = true;
template <> constexpr bool OF_MEAN<EwmDecayed<WeightedMoments>> = false;
template <> constexpr bool OF_MEAN<EwmRestarted<WeightedMoments>> = false;

template <typename T, typename State, bool MEAN> static Status launch_tile(const VariantArgs *args) {
    const EwmView<T> view = ewm_view<T>(args);
    const size_t length = window_of(&view.rule),
                 blocks = divide_up(view.rule.n, (size_t)tunable_threads(args) * tunable_tile(args));
    const double log_dropped = (double)length * view.rule.log_q;
    const ClosedWindow window = {(unsigned)length, tunable_tile(args), exp(log_dropped), -expm1(log_dropped)};
    const LaunchShape shape = {dim3((unsigned)blocks), dim3(tunable_threads(args)), shared_bytes(args, &view.rule), args->stream};
    return launch(truncated_tile_kernel<T, State, MEAN>, shape, view, window);
}

static Status run(const VariantArgs *args) {
    if (array_count(&args->in[0]) == 0) return STATUS_OK;
    return ewm_with_types(args, [args]<typename T, typename State>() { return launch_tile<T, State, OF_MEAN<State>>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const EwmCase rule = ewm_case(args);
    if (rule.n == 0) return true;
    const size_t bytes = shared_bytes(args, &rule), window = window_of(&rule);
    if (bytes > device_block_shared_max())
        return variant_refuse(
            reason,
            "a window of 10 spans, %zu elements, with %u threads x %u outputs needs %zu bytes of shared memory, a block has %zu",
            window, tunable_threads(args), tunable_tile(args), bytes, device_block_shared_max());
    if (window < rule.n && rule.min_periods > window)
        return variant_refuse(reason, "min_periods=%zu: a window of 10 spans sees only %zu elements", rule.min_periods, window);
    return ewm_fits_grid(args, (size_t)tunable_threads(args) * tunable_tile(args), reason);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {},
};

RUNGS_VARIANT(ewm, cuda_truncated_tile_closed_form) = {
    .backend = BACKEND_CUDA,
    .summary = "the published tile for every mode: sum of the weights in closed form, one division per output, up to 227 KiB",
    .origin = "Adding the rolling and ewm functions to cuDF (Ewm); closed form and modes: ours",
    .tunables = TUNABLES,
    .bound = "truncated",
    .supports = supports,
    .run = run,
};
