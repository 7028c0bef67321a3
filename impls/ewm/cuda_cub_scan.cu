/* Idea: one call of cub::DeviceScan over states of runs of elements. Its input iterator makes a state of each element, its output
 *   iterator an output of each state, so none is ever in memory. Its operator (merge() in _shared.cuh) makes one state of two
 *   adjoining runs. A mean without gaps has the map y -> q y + x of an element: (a, b), then (c, d) is (a c, c b + d). Elsewhere a
 *   state has sums of weights and of weighted values or squares: those of the earlier run are multiplied by the decay from its last
 *   observation to that of the later, then both are joined. With nan=decay and adjust=false it has the run's first observation
 *   apart, whose weight depends on the gap before the run. CUB reads each element once, where the block scan reads it twice: a
 *   block publishes what its tile comes to, then looks back over the tiles before its own, merging what they published, until one
 *   has published all up to it (decoupled look-back).
 * Traffic: n reads, n writes, and CUB's tile descriptors (a state and a flag per tile).
 * Rounding: trees whose shape CUB chooses at run time, by the order in which blocks finish: the last bits may differ from run to
 *   run. Doubles for all dtypes.
 * Limits: none. States are large (16 to 80 bytes), so CUB gives few elements to a thread.
 * Origin: Merrill and Garland 2016 ("Single-pass parallel prefix scan with decoupled look-back"), in CUB; the affine operator by
 *   Blelloch 1990. */
#include "_shared.cuh"
#include "common/cub_text.cuh"
#include "common/scan_iterator.cuh"

#include <cub/device/device_scan.cuh>

/* Element i as a state of its own: what the scan reads. */
template <typename T, typename State> struct ElementStates : ScanIterator<ElementStates<T, State>, State, State> {
    EwmView<T> view;
    __host__ __device__ State at(size_t i) const {
        State state;
        state.push(view.rule, (double)wide(view.x[i]), view.begins(i));
        return state;
    }
};

/* What the scan writes to: assigning state i writes output i. */
template <typename T, typename State> struct Output {
    const EwmView<T> *view;
    size_t i;
    __host__ __device__ void operator=(const State &state) const { view->y[i] = (T)state.output(view->rule, i); }
};
template <typename T, typename State> struct Outputs : ScanIterator<Outputs<T, State>, State, Output<T, State>> {
    EwmView<T> view;
    __host__ __device__ Output<T, State> at(size_t i) const { return {&view, i}; }
};

/* CUB's call: enqueues the scan, or, if temporary is NULL, only sets *bytes to the size of the temporary memory that it needs. */
template <typename T, typename State> static Status scan(const VariantArgs *args, void *temporary, size_t *bytes) {
    const EwmView<T> view = ewm_view<T>(args);
    ElementStates<T, State> in;
    Outputs<T, State> out;
    in.view = out.view = view;
    TRY_CUDA(cub::DeviceScan::InclusiveScan(temporary, *bytes, in, out, ScanMerge(), view.rule.n, (cudaStream_t)args->stream));
    return STATUS_OK;
}

static Status scan_any(const VariantArgs *args, void *temporary, size_t *bytes) {
    if (array_count(&args->in[0]) == 0) return STATUS_OK;
    return ewm_with_storage(args, [=]<typename T, typename State>() { return scan<T, State>(args, temporary, bytes); });
}

static Status run(const VariantArgs *args) {
    size_t bytes = args->scratch_bytes;
    return scan_any(args, args->scratch, &bytes);
}

static size_t scratch_bytes(const VariantArgs *args) {
    size_t bytes = 0;
    return scan_any(args, NULL, &bytes) == STATUS_OK ? bytes : 0;
}

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(ewm, cuda_cub_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "one cub::DeviceScan from elements to outputs, by way of states",
    .origin = "CUB; Merrill and Garland 2016",
    .library = CUB_TEXT,
    .dtypes = STORAGE_TYPES,
    .accumulates = ACCUMULATES,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
