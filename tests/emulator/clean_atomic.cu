/* Clean kernels of atomics: histogram, every operation, a lock, volatile flags between warps. */
#include "kernel.h"
#include "selftest.h"

enum { N = 3000, BINS = 37, THREADS = 96 };

/* Counts in shared memory, merged into global memory; blocks stride over the array. */
static __global__ void histogram(const unsigned char *x, size_t n, unsigned *counts) {
    __shared__ unsigned own[BINS];
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        atomicAdd(&own[x[i] % BINS], 1u);
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(&counts[bin], own[bin]);
}

static Status run_histogram(const Device *device) {
    unsigned char x[N], *in;
    unsigned expected[BINS] = {0}, zero[BINS] = {0}, *counts;
    for (int i = 0; i < N; i++) {
        x[i] = (unsigned char)(i * 31 % 251);
        expected[x[i] % BINS]++;
    }
    TRY(make_array(device, x, N, &in));
    TRY(make_array(device, zero, BINS, &counts));
    TRY(launch(histogram, {7, THREADS, 0, device->stream()}, (const unsigned char *)in, (size_t)N, counts));
    return expect_equal(device, counts, expected, BINS, "histogram");
}

/* Each operation by 200 threads on its own word; sums of halves and of small integers are exact in any order. */
static __global__ void operations(int *i, unsigned *u, unsigned long long *w, float *f, double *d) {
    const int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd(&i[0], t - 50);
    atomicSub(&i[1], t);
    atomicMin(&i[2], 100 - t);
    atomicMax(&i[3], t - 300);
    atomicAnd(&u[0], ~(1u << t % 32));
    atomicOr(&u[1], 1u << t % 7);
    atomicXor(&u[2], 1u << t % 5);
    atomicInc(&u[3], 6);
    atomicDec(&u[4], 6);
    atomicMin(&u[5], 1000u - (unsigned)t);
    atomicMax(&u[6], (unsigned)t);
    atomicAdd(&w[0], 1ull << 33);
    atomicMax(&w[1], (unsigned long long)t << 40);
    atomicAdd(&f[0], 0.5f);
    atomicAdd(&d[0], 0.25);
    unsigned long long seen = 0, assumed;
    do {
        assumed = seen;
        seen = atomicCAS(&w[2], assumed, assumed + 3);
    } while (seen != assumed);
    if (t == 123) atomicExch(&i[4], 7);
}

static Status run_operations(const Device *device) {
    int i[5] = {0, 0, 0, -1000, 0}, *di;
    unsigned u[7] = {~0u, 0, 0, 0, 0, ~0u, 0}, *du;
    unsigned long long w[3] = {0, 0, 0}, *dw;
    float f = 0, *df;
    double d = 0, *dd;
    TRY(make_array(device, i, 5, &di));
    TRY(make_array(device, u, 7, &du));
    TRY(make_array(device, w, 3, &dw));
    TRY(make_array(device, &f, 1, &df));
    TRY(make_array(device, &d, 1, &dd));
    TRY(launch(operations, {2, 100, 0, device->stream()}, di, du, dw, df, dd));
    const int expected_i[5] = {199 * 100 - 200 * 50, -199 * 100, -99, -101, 7};
    const unsigned expected_u[7] = {0, 127, 0, 200 % 7, 3, 801, 199};
    const unsigned long long expected_w[3] = {200ull << 33, 199ull << 40, 600};
    const float expected_f = 100;
    const double expected_d = 50;
    TRY(expect_equal(device, di, expected_i, 5, "operations: int"));
    TRY(expect_equal(device, du, expected_u, 7, "operations: unsigned"));
    TRY(expect_equal(device, dw, expected_w, 3, "operations: 64 wide"));
    TRY(expect_equal(device, df, &expected_f, 1, "operations: float"));
    return expect_equal(device, dd, &expected_d, 1, "operations: double");
}

/* A lock: its holder must get its turn although everybody else spins, and what it guards needs no atomics. */
static __global__ void locked_counter(int *lock, int *counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) != 0) continue;
        __threadfence();
        counter[0] += 1;
        counter[1] += counter[0];
        __threadfence();
        atomicExch(lock, 0);
        done = true;
    }
}

static Status run_locked_counter(const Device *device) {
    const int zero[2] = {0, 0}, expected[2] = {192, 192 * 193 / 2};
    int *lock, *counter;
    TRY(make_array(device, zero, 1, &lock));
    TRY(make_array(device, zero, 2, &counter));
    TRY(launch(locked_counter, {6, 32, 0, device->stream()}, lock, counter));
    return expect_equal(device, counter, expected, 2, "locked_counter");
}

/* One warp feeds another through shared memory: fences of block scope are enough within a block. */
static __global__ void hand_over(int *out) {
    __shared__ volatile int ready;
    __shared__ int data[32];
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[threadIdx.x] = (int)threadIdx.x * 3;
        __syncwarp();
        __threadfence_block();
        if (threadIdx.x == 0) ready = 1;
    } else {
        while (!ready) {}
        __threadfence_block();
        out[threadIdx.x - 32] = data[threadIdx.x - 32];
    }
}

static Status run_hand_over(const Device *device) {
    int expected[32], *out;
    for (int i = 0; i < 32; i++) expected[i] = 3 * i;
    TRY(make_array<int>(device, NULL, 32, &out));
    TRY(launch(hand_over, {1, 64, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 32, "hand_over");
}

/* An exchange sets what nobody has written; its result is thrown away. */
static __global__ void set_by_exchange(int *words) {
    atomicExch(&words[threadIdx.x], (int)threadIdx.x);
    atomicExch_block(&words[32], 7);
}

static Status run_set_by_exchange(const Device *device) {
    int expected[33], *words;
    for (int i = 0; i < 33; i++) expected[i] = i < 32 ? i : 7;
    TRY(make_array<int>(device, NULL, 33, &words));
    TRY(launch(set_by_exchange, {1, 32, 0, device->stream()}, words));
    return expect_equal(device, words, expected, 33, "set_by_exchange");
}

extern "C" const SelfTest CLEAN_ATOMIC[] = {
    {"histogram", run_histogram, {}}, {"atomic operations", run_operations, {}},    {"locked counter", run_locked_counter, {}},
    {"hand-over", run_hand_over, {}}, {"set by exchange", run_set_by_exchange, {}}, {NULL, NULL, {}},
};
