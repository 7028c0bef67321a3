/* Clean kernels whose blocks depend on each other: scans with look-back, a reduction by the last block, launches that follow each
 * other. */
#include "kernel.h"
#include "selftest.h"

enum { N = 1500, THREADS = 64, BLOCKS = (N + THREADS - 1) / THREADS };

/* Sums of the block's elements up to each thread's own. */
static __device__ int scan_block(int own, int *buffer) {
    buffer[threadIdx.x] = own;
    __syncthreads();
    for (unsigned distance = 1; distance < THREADS; distance *= 2) {
        const int before = threadIdx.x >= distance ? buffer[threadIdx.x - distance] : 0;
        __syncthreads();
        buffer[threadIdx.x] += before;
        __syncthreads();
    }
    return buffer[threadIdx.x];
}

/* Decoupled look-back: tiles by ticket; flag 1: `totals` is there, 2: `prefixes` too. */
static __global__ void lookback_scan(const int *x, int *y, size_t n, unsigned *ticket, volatile int *flags, int *totals,
                                     int *prefixes) {
    __shared__ int buffer[THREADS];
    __shared__ unsigned tile;
    __shared__ int before;
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    const size_t i = (size_t)tile * THREADS + threadIdx.x;
    const int inclusive = scan_block(i < n ? x[i] : 0, buffer);
    if (threadIdx.x == 0) {
        const int total = buffer[THREADS - 1];
        totals[tile] = total;
        __threadfence();
        flags[tile] = 1;
        int sum = 0;
        for (int j = (int)tile - 1; j >= 0; j--) {
            int flag;
            while ((flag = flags[j]) == 0) {}
            __threadfence();
            if (flag == 2) {
                sum += prefixes[j];
                break;
            }
            sum += totals[j];
        }
        prefixes[tile] = sum + total;
        __threadfence();
        flags[tile] = 2;
        before = sum;
    }
    __syncthreads();
    if (i < n) y[i] = before + inclusive;
}

/* The same with value and flag in one word, exchanged by atomics, looked back at by a warp. Nothing else is passed on, so no fence.
 */
static __global__ void packed_scan(const int *x, int *y, size_t n, unsigned *ticket, unsigned long long *words) {
    __shared__ int buffer[THREADS];
    __shared__ unsigned tile;
    __shared__ int before;
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    const size_t i = (size_t)tile * THREADS + threadIdx.x;
    const int inclusive = scan_block(i < n ? x[i] : 0, buffer), total = buffer[THREADS - 1];
    if (threadIdx.x < 32) {
        const int lane = (int)threadIdx.x;
        if (lane == 0) atomicExch(&words[tile], 1ull << 32 | (unsigned)total);
        int sum = 0;
        for (int end = (int)tile; end > 0; end -= 32) {
            const int j = end - 1 - lane;
            unsigned long long word = 2ull << 32; /* before the first tile: a prefix of 0 */
            while (j >= 0 && (word = atomicAdd(&words[j], 0ull)) == 0) {}
            const unsigned prefixes = __ballot_sync(0xffffffffu, word >> 32 == 2);
            const int first = prefixes ? __ffs((int)prefixes) - 1 : 31;
            sum += __reduce_add_sync(0xffffffffu, lane <= first ? (int)(unsigned)word : 0);
            if (prefixes) break;
        }
        if (lane == 0) {
            atomicExch(&words[tile], 2ull << 32 | (unsigned)(sum + total));
            before = sum;
        }
    }
    __syncthreads();
    if (i < n) y[i] = before + inclusive;
}

static Status make_case(const Device *device, int *expected, int **in, int **out) {
    int x[N];
    for (int i = 0; i < N; i++) {
        x[i] = i * 37 % 19 - 9;
        expected[i] = x[i] + (i ? expected[i - 1] : 0);
    }
    TRY(make_array(device, x, N, in));
    return make_array<int>(device, NULL, N, out);
}

static Status run_lookback(const Device *device) {
    int expected[N], zero[BLOCKS] = {0}, *in, *out, *flags, *totals, *prefixes;
    unsigned *ticket;
    TRY(make_case(device, expected, &in, &out));
    TRY(make_array(device, (const unsigned *)zero, 1, &ticket));
    TRY(make_array(device, zero, BLOCKS, &flags));
    TRY(make_array<int>(device, NULL, BLOCKS, &totals));
    TRY(make_array<int>(device, NULL, BLOCKS, &prefixes));
    TRY(launch(lookback_scan, {BLOCKS, THREADS, 0, device->stream()}, (const int *)in, out, (size_t)N, ticket,
               (volatile int *)flags, totals, prefixes));
    return expect_equal(device, out, expected, N, "lookback_scan");
}

static Status run_packed(const Device *device) {
    int expected[N], *in, *out;
    unsigned long long zero[BLOCKS] = {0}, *words;
    unsigned *ticket;
    TRY(make_case(device, expected, &in, &out));
    TRY(make_array(device, (const unsigned *)zero, 1, &ticket));
    TRY(make_array(device, zero, BLOCKS, &words));
    TRY(launch(packed_scan, {BLOCKS, THREADS, 0, device->stream()}, (const int *)in, out, (size_t)N, ticket, words));
    return expect_equal(device, out, expected, N, "packed_scan");
}

/* CUDA's threadFenceReduction: whoever draws the last ticket adds up what all blocks have left. */
static __global__ void last_block_sum(const int *x, size_t n, int *partial, unsigned *ticket, int *sum) {
    __shared__ int buffer[THREADS];
    __shared__ bool last;
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    const int inclusive = scan_block(i < n ? x[i] : 0, buffer);
    if (threadIdx.x == THREADS - 1) {
        partial[blockIdx.x] = inclusive;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    int mine = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS) mine += partial[block];
    const int all = scan_block(mine, buffer);
    if (threadIdx.x == THREADS - 1) *sum = all;
}

static Status run_last_block(const Device *device) {
    int expected[N], *in, *out, *partial;
    const unsigned zero = 0;
    unsigned *ticket;
    TRY(make_case(device, expected, &in, &out));
    TRY(make_array<int>(device, NULL, BLOCKS, &partial));
    TRY(make_array(device, &zero, 1, &ticket));
    for (int repeat = 0; repeat < 2; repeat++) {
        TRY(launch(last_block_sum, {BLOCKS, THREADS, 0, device->stream()}, (const int *)in, (size_t)N, partial, ticket, out));
        TRY(expect_equal(device, out, &expected[N - 1], 1, "last_block_sum"));
    }
    return STATUS_OK;
}

/* The end of a kernel orders everything before the next; memory set by the runtime is initialised. */
static __global__ void shift(const int *from, int *to, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[(i + 1) % n] + 1;
}

static Status run_chain(const Device *device) {
    int x[N], expected[N], *a, *b;
    for (int i = 0; i < N; i++) x[i] = i;
    for (int i = 0; i < N; i++) expected[i] = (i + 4) % N + 4;
    TRY(make_array(device, x, N, &a));
    TRY(make_array<int>(device, NULL, N, &b));
    for (int repeat = 0; repeat < 2; repeat++) {
        TRY(launch(shift, {BLOCKS, THREADS, 0, device->stream()}, (const int *)a, b, (size_t)N));
        TRY(launch(shift, {BLOCKS, THREADS, 0, device->stream()}, (const int *)b, a, (size_t)N));
    }
    TRY(expect_equal(device, a, expected, N, "chain"));
    const cudaStream_t stream = static_cast<cudaStream_t>(device->stream());
    TRY_CUDA(cudaMemsetAsync(a, 0, N * sizeof(int), stream));
    TRY_CUDA(cudaMemcpyAsync(b, a, N * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    TRY(launch(shift, {BLOCKS, THREADS, 0, device->stream()}, (const int *)b, a, (size_t)N));
    for (int i = 0; i < N; i++) expected[i] = 1;
    return expect_equal(device, a, expected, N, "chain: after cudaMemsetAsync");
}

extern "C" const SelfTest CLEAN_GRID[] = {
    {"look-back scan", run_lookback, {}},
    {"packed look-back scan", run_packed, {}},
    {"last block", run_last_block, {}},
    {"chain of kernels", run_chain, {}},
    {NULL, NULL, {}},
};
