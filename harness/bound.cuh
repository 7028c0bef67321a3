/* bound.cuh - what a file that `rungs try --call` or `--launch` bound to an op, and the descriptor that stands for it (bound.cu),
 * say to each other. Beside a user's code: includes nothing of the harness, and its names begin with rungs_. */
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <type_traits>

enum { RUNGS_BOUND_ARRAYS = 16, RUNGS_BOUND_NUMBERS = 16 };

/* The case, by the order of the op's arrays (inputs first) and parameters. */
struct RungsBound {
    int dtype;
    void *array[RUNGS_BOUND_ARRAYS];
    long long integer[RUNGS_BOUND_NUMBERS];
    double real[RUNGS_BOUND_NUMBERS];
    const char *text[RUNGS_BOUND_NUMBERS];
    cudaStream_t stream;
};

/* The dtypes that the call can be made with, by DType; the last is DTYPE_COUNT. */
struct RungsBoundTypes {
    int taken[RUNGS_BOUND_NUMBERS];
};
extern "C" const RungsBoundTypes rungs_bound_types;
extern "C" cudaError_t rungs_bound_run(const RungsBound *bound);

/* ceil(n / 256) of the command line, of integers too. */
template <typename A, typename B> static inline auto rungs_ceil_ratio(A a, B b) {
    if constexpr (std::is_integral<A>::value && std::is_integral<B>::value)
        return (a + b - 1) / b;
    else
        return static_cast<long long>(std::ceil(a / b));
}

/* `call, RungsBoundDone()`: the error of a call that returns one. */
struct RungsBoundDone {
    cudaError_t error;
    RungsBoundDone() : error(cudaSuccess) {}
};
static inline RungsBoundDone operator,(cudaError_t error, RungsBoundDone done) {
    done.error = error;
    return done;
}
