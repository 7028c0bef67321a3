// The kernel around a user's window function. Compiled by the host compiler for the emulator, and by NVRTC, which gets this file's
// text behind the user's; so no includes, and nothing but CUDA C.
//
// A block stages the inputs of threads x tile consecutive outputs and the window - 1 elements before them in shared memory. Each
// thread hands its tile to the function, which writes to global memory, and then overwrites the outputs of incomplete windows.
// Before the array's beginning NaN is staged: no function can read what is not there.

template <typename Real> struct ApplyView {
    const Real *x;
    Real *y;
    unsigned long long n;
    int window, tile;
    Real incomplete, nothing; // the output of an incomplete window; what is staged where there is no element
};

template <typename Real, typename Function>
__device__ __forceinline__ void apply_block(ApplyView<Real> view, Real *staged, Function function) {
    const int history = view.window - 1, outputs = (int)blockDim.x * view.tile;
    const unsigned long long base = (unsigned long long)blockIdx.x * (unsigned long long)outputs;
    for (int k = (int)threadIdx.x; k < history + outputs; k += (int)blockDim.x) {
        const unsigned long long at = base + (unsigned long long)k; // in an array that begins `history` elements earlier
        const bool inside = at >= (unsigned long long)history && at - (unsigned long long)history < view.n;
        staged[k] = inside ? view.x[at - (unsigned long long)history] : view.nothing;
    }
    __syncthreads();

    const int offset = history + (int)threadIdx.x * view.tile;
    const unsigned long long first = base + (unsigned long long)threadIdx.x * (unsigned long long)view.tile;
    if (first >= view.n) return;
    const int available = first < (unsigned long long)offset ? (int)first : offset;
    const int count = view.n - first < (unsigned long long)view.tile ? (int)(view.n - first) : view.tile;
    function(staged, available, view.y + first, view.window, count, offset);
    for (int i = 0; i < count && first + (unsigned long long)i < (unsigned long long)history; i++)
        view.y[first + i] = view.incomplete;
}
