/* Clean kernels of malloc() and free(): pieces outlive their kernel, are the right size, and do not overlap; exhaustion is null. */
#include "kernel.h"
#include "selftest.h"

enum { N = 300, THREADS = 96, BLOCKS = 4 };

static __global__ void allocate(unsigned char **pieces, int n) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    const int bytes = i % 37;
    unsigned char *piece = static_cast<unsigned char *>(malloc((size_t)bytes));
    for (int k = 0; k < bytes; k++) piece[k] = (unsigned char)(i + k);
    pieces[i] = bytes ? piece : nullptr;
    if (!bytes) free(piece);
}

static __global__ void add_up(unsigned char *const *pieces, int n, int *sums) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    sums[i] = 0;
    for (int k = 0; k < i % 37; k++) sums[i] += pieces[i][k];
}

static __global__ void give_back(unsigned char *const *pieces, int n) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) free(pieces[i]);
}

/* Twice, so that what was freed is used again. */
static Status run_pieces(const Device *device) {
    int expected[N], *sums;
    unsigned char **pieces;
    for (int i = 0; i < N; i++) {
        expected[i] = 0;
        for (int k = 0; k < i % 37; k++) expected[i] += (unsigned char)(i + k);
    }
    TRY(make_array<int>(device, NULL, N, &sums));
    TRY(make_array<unsigned char *>(device, NULL, N, &pieces));
    for (int round = 0; round < 2; round++) {
        TRY(launch(allocate, {BLOCKS, THREADS, 0, device->stream()}, pieces, (int)N));
        TRY(launch(add_up, {BLOCKS, THREADS, 0, device->stream()}, pieces, (int)N, sums));
        TRY(launch(give_back, {BLOCKS, THREADS, 0, device->stream()}, pieces, (int)N));
        TRY(expect_equal(device, sums, expected, N, "pieces"));
    }
    return STATUS_OK;
}

/* More than any heap here has, by one thread: null, and then there is still room for what fits. */
static __global__ void exhaust(int *out) {
    void *volatile all = malloc((size_t)1 << 40), *volatile little = malloc(64); /* or the compiler would know better */
    out[0] = all == nullptr;
    out[1] = little != nullptr;
    free(all);
    free(little);
}

static Status run_exhaust(const Device *device) {
    const int expected[2] = {1, 1};
    int *out;
    TRY(make_array<int>(device, NULL, 2, &out));
    TRY(launch(exhaust, {1, 1, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 2, "exhaust");
}

extern "C" const SelfTest CLEAN_HEAP[] = {
    {"pieces of the heap", run_pieces, {}},
    {"heap exhausted", run_exhaust, {}},
    {NULL, NULL, {}},
};
