/* kernels.cuh - what every CUDA variant of ewm does before its kernels: read the case, choose the state (ewm/state.cuh).
 *
 * A variant hands ewm_dispatch a class template Kernels<T, State> with one static function, launch_on(args, view); n = 0 ends here.
 */
#ifndef RUNGS_EWM_KERNELS_CUH
#define RUNGS_EWM_KERNELS_CUH

#include "common/device_limits.cuh"
#include "common/ewm/state.cuh"
#include "common/grid.cuh"

/* The case as kernels see it. */
template <typename T> struct EwmView {
    const T *x;
    const unsigned char *starts; /* NULL: one series */
    T *y;
    EwmCase rule;

    __host__ __device__ bool begins(size_t i) const { return i == 0 || (starts && starts[i] != 0); }
};

/* States travel between lanes word by word. */
template <bool UP, typename State> __device__ State ewm_shuffle(const State &state, unsigned distance) {
    static_assert(sizeof(State) % sizeof(unsigned) == 0);
    unsigned words[sizeof(State) / sizeof(unsigned)];
    memcpy(words, &state, sizeof state);
#pragma unroll
    for (unsigned &word : words) word = shuffle_value<UP>(word, distance);
    State other;
    memcpy(&other, words, sizeof other);
    return other;
}
template <bool UP> __device__ EwmPlain shuffle(const EwmPlain &state, unsigned distance) {
    return {shuffle<UP>(state.map, distance)};
}
template <bool UP, typename Bag> __device__ EwmDecayed<Bag> shuffle(const EwmDecayed<Bag> &state, unsigned distance) {
    return ewm_shuffle<UP>(state, distance);
}
template <bool UP, typename Bag> __device__ EwmRestarted<Bag> shuffle(const EwmRestarted<Bag> &state, unsigned distance) {
    return ewm_shuffle<UP>(state, distance);
}

/* Which state a case needs. */
enum EwmMode { EWM_PLAIN, EWM_DECAYED, EWM_RESTARTED };

static inline EwmMode ewm_mode(const EwmCase *rule) {
    if (rule->nan_decays) return rule->adjust ? EWM_DECAYED : EWM_RESTARTED;
    return rule->agg == EWM_MEAN && !rule->segments ? EWM_PLAIN : EWM_DECAYED;
}

static inline size_t ewm_state_bytes(const EwmCase *rule) {
    const bool sums = rule->agg == EWM_MEAN;
    switch (ewm_mode(rule)) {
    case EWM_PLAIN:
        return sizeof(EwmPlain);
    case EWM_DECAYED:
        return sums ? sizeof(EwmDecayed<WeightedSum>) : sizeof(EwmDecayed<WeightedMoments>);
    default:
        return sums ? sizeof(EwmRestarted<WeightedSum>) : sizeof(EwmRestarted<WeightedMoments>);
    }
}

static inline bool ewm_fits_grid(const VariantArgs *args, size_t outputs_per_block, char reason[REASON_MAX]) {
    const size_t n = array_count(&args->in[0]), blocks = divide_up(n, outputs_per_block);
    if (blocks <= GRID_BLOCKS_MAX) return true;
    return variant_refuse(reason, "n=%zu needs %zu blocks of %zu outputs; a grid holds %zu", n, blocks, outputs_per_block,
                          GRID_BLOCKS_MAX);
}

template <template <typename, typename> class Kernels, typename T> static Status ewm_dispatch_typed(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    if (rule.n == 0) return STATUS_OK;
    const unsigned char *starts = rule.segments ? (const unsigned char *)args->in[1].data : NULL;
    const EwmView<T> view = {(const T *)args->in[0].data, starts, (T *)args->out[0].data, rule};
    const bool sums = rule.agg == EWM_MEAN;
    switch (ewm_mode(&rule)) {
    case EWM_PLAIN:
        return Kernels<T, EwmPlain>::launch_on(args, view);
    case EWM_DECAYED:
        return sums ? Kernels<T, EwmDecayed<WeightedSum>>::launch_on(args, view)
                    : Kernels<T, EwmDecayed<WeightedMoments>>::launch_on(args, view);
    default:
        return sums ? Kernels<T, EwmRestarted<WeightedSum>>::launch_on(args, view)
                    : Kernels<T, EwmRestarted<WeightedMoments>>::launch_on(args, view);
    }
}

template <template <typename, typename> class Kernels> static Status ewm_dispatch(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? ewm_dispatch_typed<Kernels, double>(args) : ewm_dispatch_typed<Kernels, float>(args);
}

#endif
