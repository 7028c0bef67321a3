/* stage.cuh - a block copies the inputs of its windows into shared memory. */
#ifndef RUNGS_ROLLING_STAGE_CUH
#define RUNGS_ROLLING_STAGE_CUH

#include "common/rolling/case.cuh"

/* rows[j] = x[first + j - (window - 1)] for j < outputs + window - 1, where first is the block's first output. What lies outside
 * the array is not read and stays unset: no complete window reaches it. */
template <typename T, typename Rows>
__device__ void rolling_stage(const RollingView<T> &view, size_t first, unsigned outputs, Rows rows) {
    const size_t before = view.window - 1;
    const unsigned count = outputs + (unsigned)before;
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const size_t shifted = first + j;
        if (shifted >= before && shifted - before < view.n) rows[j] = view.x[shifted - before];
    }
    __syncthreads();
}

#endif
