/* Clean kernels of warp operations: values by hand from CUDA's documentation, whole and partial masks, ended lanes. */
#include "kernel.h"
#include "selftest.h"

static const unsigned ALL = 0xffffffffu;

/* Rows of 32 results. */
static __global__ void shuffles(int *out) {
    const int lane = (int)threadIdx.x % 32;
    out[0 * 32 + lane] = __shfl_sync(0xffffffffu, 100 + lane, 5);
    out[1 * 32 + lane] = __shfl_sync(0xffffffffu, 100 + lane, lane + 1, 8);
    out[2 * 32 + lane] = __shfl_up_sync(0xffffffffu, 100 + lane, 3);
    out[3 * 32 + lane] = __shfl_up_sync(0xffffffffu, 100 + lane, 3, 16);
    out[4 * 32 + lane] = __shfl_down_sync(0xffffffffu, 100 + lane, 3);
    out[5 * 32 + lane] = __shfl_down_sync(0xffffffffu, 100 + lane, 3, 8);
    out[6 * 32 + lane] = __shfl_xor_sync(0xffffffffu, 100 + lane, 17);
    out[7 * 32 + lane] = __shfl_xor_sync(0xffffffffu, 100 + lane, 9, 8);
}

static Status run_shuffles(const Device *device) {
    int expected[8 * 32], *out;
    for (int lane = 0; lane < 32; lane++) {
        expected[0 * 32 + lane] = 105;
        expected[1 * 32 + lane] = 100 + lane / 8 * 8 + (lane + 1) % 8;
        expected[2 * 32 + lane] = 100 + (lane >= 3 ? lane - 3 : lane);
        expected[3 * 32 + lane] = 100 + (lane % 16 >= 3 ? lane - 3 : lane);
        expected[4 * 32 + lane] = 100 + (lane + 3 < 32 ? lane + 3 : lane);
        expected[5 * 32 + lane] = 100 + (lane % 8 + 3 < 8 ? lane + 3 : lane);
        expected[6 * 32 + lane] = 100 + (lane ^ 17);
        /* A lane of a higher segment is out of reach, one of a lower segment is not. */
        expected[7 * 32 + lane] = 100 + ((lane ^ 9) <= lane / 8 * 8 + 7 ? lane ^ 9 : lane);
    }
    TRY(make_array<int>(device, NULL, 8 * 32, &out));
    TRY(launch(shuffles, {1, 32, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 8 * 32, "shuffles");
}

static __global__ void wide_shuffles(const double *x, double *sums, long long *first) {
    double sum = x[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    const long long wide = ((long long)threadIdx.x << 40) | 1;
    first[threadIdx.x] = __shfl_sync(0xffffffffu, wide, 7);
}

static Status run_wide_shuffles(const Device *device) {
    double x[96], expected[3] = {0}, *in, *sums;
    long long first[96], *out;
    for (int i = 0; i < 96; i++) {
        x[i] = 0.25 * i;
        expected[i / 32] += x[i];
        first[i] = ((long long)(i / 32 * 32 + 7) << 40) | 1;
    }
    TRY(make_array(device, x, 96, &in));
    TRY(make_array<double>(device, NULL, 3, &sums));
    TRY(make_array<long long>(device, NULL, 96, &out));
    TRY(launch(wide_shuffles, {1, 96, 0, device->stream()}, (const double *)in, sums, out));
    TRY(expect_equal(device, sums, expected, 3, "wide_shuffles: sums"));
    return expect_equal(device, out, first, 96, "wide_shuffles: 64-bit integers");
}

static __global__ void votes(unsigned *out) {
    const int lane = (int)threadIdx.x;
    int same = -1, differ = -1;
    out[0 * 32 + lane] = __ballot_sync(0xffffffffu, lane % 5 == 0);
    out[1 * 32 + lane] = __all_sync(0xffffffffu, lane < 32) != 0;
    out[2 * 32 + lane] = __all_sync(0xffffffffu, lane < 31) != 0;
    out[3 * 32 + lane] = __any_sync(0xffffffffu, lane == 31) != 0;
    out[4 * 32 + lane] = __any_sync(0xffffffffu, lane == 32) != 0;
    out[5 * 32 + lane] = __match_any_sync(0xffffffffu, lane / 10);
    out[6 * 32 + lane] = __match_all_sync(0xffffffffu, 7, &same);
    out[7 * 32 + lane] = __match_all_sync(0xffffffffu, lane == 3, &differ);
    out[8 * 32 + lane] = (unsigned)(same != 0) * 2 + (unsigned)(differ != 0);
}

static Status run_votes(const Device *device) {
    static const unsigned TENS[] = {0x000003ffu, 0x000ffc00u, 0x3ff00000u, 0xc0000000u};
    unsigned expected[9 * 32], *out;
    for (int lane = 0; lane < 32; lane++) {
        const unsigned row[9] = {0x42108421u, 1, 0, 1, 0, TENS[lane / 10], ALL, 0, 2};
        for (int i = 0; i < 9; i++) expected[i * 32 + lane] = row[i];
    }
    TRY(make_array<unsigned>(device, NULL, 9 * 32, &out));
    TRY(launch(votes, {1, 32, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 9 * 32, "votes");
}

static __global__ void reductions(unsigned *out, int *signed_out) {
    const unsigned lane = threadIdx.x, value = lane * 2654435761u;
    const unsigned row[6] = {__reduce_add_sync(0xffffffffu, value), __reduce_min_sync(0xffffffffu, value),
                             __reduce_max_sync(0xffffffffu, value), __reduce_and_sync(0xffffffffu, value | 5u),
                             __reduce_or_sync(0xffffffffu, value),  __reduce_xor_sync(0xffffffffu, value)};
    const int row_signed[3] = {__reduce_add_sync(0xffffffffu, (int)lane - 20), __reduce_min_sync(0xffffffffu, (int)lane - 20),
                               __reduce_max_sync(0xffffffffu, (int)lane - 40)};
    if (lane == 9)
        for (int i = 0; i < 6; i++) out[i] = row[i];
    if (lane == 9)
        for (int i = 0; i < 3; i++) signed_out[i] = row_signed[i];
}

static Status run_reductions(const Device *device) {
    unsigned expected[6] = {0, ALL, 0, ALL, 0, 0}, *out;
    const int expected_signed[3] = {31 * 16 - 640, -20, -9};
    int *signed_out;
    for (unsigned lane = 0; lane < 32; lane++) {
        const unsigned value = lane * 2654435761u;
        expected[0] += value;
        expected[1] = value < expected[1] ? value : expected[1];
        expected[2] = value > expected[2] ? value : expected[2];
        expected[3] &= value | 5u;
        expected[4] |= value;
        expected[5] ^= value;
    }
    TRY(make_array<unsigned>(device, NULL, 6, &out));
    TRY(make_array<int>(device, NULL, 3, &signed_out));
    TRY(launch(reductions, {1, 32, 0, device->stream()}, out, signed_out));
    TRY(expect_equal(device, out, expected, 6, "reductions: unsigned"));
    return expect_equal(device, signed_out, expected_signed, 3, "reductions: signed");
}

/* Two parties of one warp work side by side, each in its own mask; a short last warp; lanes that have returned. */
static __global__ void partial_masks(int *out) {
    const int thread = (int)threadIdx.x, lane = thread % 32;
    if (thread >= 40) return;
    if (thread >= 32) { /* lanes 0-7 of the second warp; the others have returned or never were */
        out[thread] = __shfl_xor_sync(0x000000ffu, thread, 1);
        return;
    }
    int sum = lane;
    if (lane < 12) {
        for (int step = 1; step <= 2; step++) sum += __shfl_sync(0x00000fffu, lane, (lane + step) % 12);
    } else {
        sum = __popc(__ballot_sync(0xfffff000u, lane % 2));
    }
    __syncwarp();
    out[thread] = sum;
}

static Status run_partial_masks(const Device *device) {
    int expected[40], *out;
    for (int i = 0; i < 40; i++) expected[i] = i >= 32 ? i ^ 1 : i < 12 ? i + (i + 1) % 12 + (i + 2) % 12 : 10;
    TRY(make_array<int>(device, NULL, 40, &out));
    TRY(launch(partial_masks, {1, 50, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 40, "partial_masks");
}

/* __syncwarp() orders shared memory among its lanes, also from two branches. */
static __global__ void warp_exchange(int *out) {
    __shared__ int values[64];
    const unsigned thread = threadIdx.x, warp = thread / 32 * 32, lane = thread % 32;
    values[thread] = (int)thread;
    if (lane < 16) {
        __syncwarp();
    } else {
        __syncwarp();
    }
    const int neighbour = values[warp + (lane + 1) % 32];
    __syncwarp();
    values[thread] = neighbour + 1000;
    __syncwarp();
    out[thread] = values[warp + (lane + 31) % 32];
}

static Status run_warp_exchange(const Device *device) {
    int expected[64], *out;
    for (int i = 0; i < 64; i++) expected[i] = 1000 + i;
    TRY(make_array<int>(device, NULL, 64, &out));
    TRY(launch(warp_exchange, {1, 64, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 64, "warp_exchange");
}

static __global__ void bits(unsigned *out, unsigned long long *wide) {
    const unsigned x = 0x00f0a003u + threadIdx.x;
    const unsigned row[] = {(unsigned)__popc(x),
                            (unsigned)__clz((int)x),
                            (unsigned)__ffs((int)x),
                            __brev(x),
                            __byte_perm(x, 0x11223344u, 0x7250),
                            __funnelshift_l(x, 0x80000001u, 4),
                            __funnelshift_r(x, 0x80000001u, 4),
                            __umulhi(x, 0x10000001u)};
    for (int i = 0; i < 8; i++) out[i] = row[i];
    const double half = 0.5 * (1 + threadIdx.x);
    wide[0] = (unsigned long long)__double_as_longlong(half);
    wide[1] = (unsigned long long)__popcll(~0ull << 3) + 100 * (unsigned long long)__clzll(1ll << 40);
    wide[2] = (unsigned)__double2hiint(half);
    wide[3] = (unsigned long long)__double_as_longlong(__hiloint2double(0x3ff00000, 1));
}

static Status run_bits(const Device *device) {
    const unsigned expected[8] = {8, 8, 1, 0xc0050f00u, 0x11f03303u, 0x00000010u, 0x100f0a00u, 0x000f0a00u};
    const unsigned long long expected_wide[4] = {0x3fe0000000000000ull, 61 + 2300, 0x3fe00000u, 0x3ff0000000000001ull};
    unsigned *out;
    unsigned long long *wide;
    TRY(make_array<unsigned>(device, NULL, 8, &out));
    TRY(make_array<unsigned long long>(device, NULL, 4, &wide));
    TRY(launch(bits, {1, 1, 0, device->stream()}, out, wide));
    TRY(expect_equal(device, out, expected, 8, "bits"));
    return expect_equal(device, wide, expected_wide, 4, "bits: 64 wide");
}

extern "C" const SelfTest CLEAN_WARP[] = {
    {"shuffles", run_shuffles, {}},           {"wide shuffles", run_wide_shuffles, {}},
    {"votes and matches", run_votes, {}},     {"warp reductions", run_reductions, {}},
    {"partial masks", run_partial_masks, {}}, {"warp exchange", run_warp_exchange, {}},
    {"bit operations", run_bits, {}},         {NULL, NULL, {}},
};
