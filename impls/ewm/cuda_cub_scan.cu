/* Idea: one call of cub::DeviceScan. Its input iterator makes a state of each element, its operator joins states, its output
 * iterator makes an output of each state, so that no state of an element is ever in memory.
 * Traffic: n reads, n writes; CUB's look-back beside it.
 * Rounding: trees whose shape CUB chooses, by the time when blocks finish: the last bits may differ from run to run; doubles for
 *   both dtypes.
 * Limits: none; states are large (16 to 80 bytes), so CUB takes few elements for a thread.
 * Origin: Merrill and Garland 2016 ("Single-pass parallel prefix scan with decoupled look-back"), in CUB; the affine operator by
 *   Blelloch 1990. */
#include "common/ewm/kernels.cuh"
#include "common/scan_iterator.cuh"

#include <cub/device/device_scan.cuh>

template <typename T, typename State> struct ElementStates : ScanIterator<ElementStates<T, State>, State, State> {
    EwmView<T> view;
    __host__ __device__ State at(size_t i) const {
        State state;
        state.push(view.rule, (double)view.x[i], view.begins(i));
        return state;
    }
};

/* Assigned a state, this writes the output. */
template <typename T, typename State> struct Output {
    const EwmView<T> *view;
    size_t i;
    __host__ __device__ void operator=(const State &state) const { view->y[i] = (T)state.output(view->rule, i); }
};
template <typename T, typename State> struct Outputs : ScanIterator<Outputs<T, State>, State, Output<T, State>> {
    EwmView<T> view;
    __host__ __device__ Output<T, State> at(size_t i) const { return {&view, i}; }
};

template <typename T, typename State>
static cudaError_t scan(const VariantArgs *args, const EwmView<T> &view, void *temporary, size_t *bytes) {
    ElementStates<T, State> in;
    Outputs<T, State> out;
    in.view = out.view = view;
    return cub::DeviceScan::InclusiveScan(temporary, *bytes, in, out, ScanMerge(), view.rule.n, (cudaStream_t)args->stream);
}

namespace { /* every variant has its own Kernels */
template <typename T, typename State> struct Kernels {
    static Status launch_on(const VariantArgs *args, EwmView<T> view) {
        size_t bytes = args->scratch_bytes;
        TRY_CUDA((scan<T, State>(args, view, args->scratch, &bytes)));
        return STATUS_OK;
    }
};
/* The same call without memory says how much it needs; the answer goes where the arguments' scratch points. */
template <typename T, typename State> struct Sizes {
    static Status launch_on(const VariantArgs *args, EwmView<T> view) {
        TRY_CUDA((scan<T, State>(args, view, NULL, (size_t *)args->scratch)));
        return STATUS_OK;
    }
};
} // namespace

static size_t scratch_bytes(const VariantArgs *args) {
    size_t bytes = 0;
    VariantArgs asked = *args;
    asked.scratch = &bytes;
    return ewm_dispatch<Sizes>(&asked) == STATUS_OK ? bytes : 0;
}

static Status run(const VariantArgs *args) {
    return ewm_dispatch<Kernels>(args);
}

RUNGS_VARIANT(ewm, cuda_cub_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "one cub::DeviceScan from elements to outputs, by way of states",
    .origin = "CUB; Merrill and Garland 2016",
    .scratch_bytes = scratch_bytes,
    .run = run,
};
