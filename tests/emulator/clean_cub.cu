/* Clean kernels with CUB: on a GPU the real one, in the emulator its stand-in. */
#include "common/affine.cuh"
#include "common/scan_iterator.cuh"
#include "kernel.h"
#include "selftest.h"

#include <cub/cub.cuh>
#include <thrust/iterator/transform_iterator.h>

enum { N = 700, THREADS = 64, BLOCKS = (N + THREADS - 1) / THREADS };

struct Larger {
    __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
struct Twice {
    __host__ __device__ int operator()(int x) const { return 2 * x; }
};

static __global__ void block_operations(const int *x, int *prefixes, int *before, int *sums, int *largest, int *warp_sums) {
    typedef cub::BlockScan<int, THREADS, cub::BLOCK_SCAN_WARP_SCANS> Scan;
    typedef cub::BlockReduce<int, THREADS, cub::BLOCK_REDUCE_RAKING> Reduce;
    typedef cub::WarpReduce<int> WarpReduce;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
        typename WarpReduce::TempStorage warps[THREADS / 32];
    } storage;
    const unsigned i = blockIdx.x * THREADS + threadIdx.x, warp = threadIdx.x / 32;
    const int own = i < N ? x[i] : 0;
    int inclusive, exclusive, all;
    Scan(storage.scan).InclusiveSum(own, inclusive, all);
    __syncthreads();
    Scan(storage.scan).ExclusiveSum(own, exclusive);
    __syncthreads();
    int items[2] = {own, 0};
    int maximum = Reduce(storage.reduce).Reduce(items, Larger());
    __syncthreads();
    const int first = Reduce(storage.reduce).Reduce(own, Larger(), 1);
    if (threadIdx.x == 0 && first != own) maximum = -1;
    __syncthreads();
    const int warp_sum = WarpReduce(storage.warps[warp]).Sum(own);
    if (i < N) prefixes[i] = inclusive;
    if (i < N) before[i] = exclusive;
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
    if (threadIdx.x == 0) largest[blockIdx.x] = maximum;
    if (threadIdx.x % 32 == 0) warp_sums[blockIdx.x * (THREADS / 32) + warp] = warp_sum;
}

static int element(int i) {
    return i * 29 % 83;
}

static Status run_block_operations(const Device *device) {
    int x[N], inclusive[N], exclusive[N], sums[BLOCKS] = {0}, largest[BLOCKS] = {0}, warp_sums[2 * BLOCKS] = {0};
    int *in, *prefixes, *before, *totals, *maxima, *warps;
    for (int i = 0; i < N; i++) {
        const int block = i / THREADS;
        x[i] = element(i);
        exclusive[i] = sums[block];
        sums[block] += x[i];
        inclusive[i] = sums[block];
        warp_sums[i / 32] += x[i];
        largest[block] = x[i] > largest[block] ? x[i] : largest[block];
    }
    TRY(make_array(device, x, N, &in));
    TRY(make_array<int>(device, NULL, N, &prefixes));
    TRY(make_array<int>(device, NULL, N, &before));
    TRY(make_array<int>(device, NULL, BLOCKS, &totals));
    TRY(make_array<int>(device, NULL, BLOCKS, &maxima));
    TRY(make_array<int>(device, NULL, 2 * BLOCKS, &warps));
    TRY(launch(block_operations, {BLOCKS, THREADS, 0, device->stream()}, (const int *)in, prefixes, before, totals, maxima, warps));
    TRY(expect_equal(device, prefixes, inclusive, N, "BlockScan::InclusiveSum"));
    TRY(expect_equal(device, before, exclusive, N, "BlockScan::ExclusiveSum"));
    TRY(expect_equal(device, totals, sums, BLOCKS, "BlockScan's aggregate"));
    TRY(expect_equal(device, maxima, largest, BLOCKS, "BlockReduce::Reduce"));
    return expect_equal(device, warps, warp_sums, 2 * BLOCKS, "WarpReduce::Sum");
}

/* First without memory, to learn how much is needed. */
static Status run_device_scans(const Device *device) {
    int x[N], inclusive[N], exclusive[N], maxima[N], doubled[N], *in, *out;
    for (int i = 0, sum = 0, largest = 0; i < N; i++) {
        x[i] = element(i);
        exclusive[i] = sum;
        sum += x[i];
        inclusive[i] = sum;
        doubled[i] = 2 * sum;
        largest = x[i] > largest ? x[i] : largest;
        maxima[i] = largest;
    }
    TRY(make_array(device, x, N, &in));
    TRY(make_array<int>(device, NULL, N, &out));
    const cudaStream_t stream = (cudaStream_t)device->stream();
    const int *const from = in;
    const auto twice = thrust::make_transform_iterator(from, Twice());
    void *memory = NULL;
    size_t bytes = 0, most = 0;
    const int n = N;
    TRY_CUDA(cub::DeviceScan::InclusiveSum(memory, bytes, from, out, n, stream));
    most = bytes;
    TRY_CUDA(cub::DeviceScan::ExclusiveSum(memory, bytes, from, out, n, stream));
    most = bytes > most ? bytes : most;
    TRY_CUDA(cub::DeviceScan::InclusiveScan(memory, bytes, from, out, Larger(), n, stream));
    most = bytes > most ? bytes : most;
    TRY_CUDA(cub::DeviceScan::InclusiveSum(memory, bytes, twice, out, n, stream));
    most = bytes > most ? bytes : most;
    TRY(device->allocate(most, &memory));
    TRY_CUDA(cub::DeviceScan::InclusiveSum(memory, most, from, out, n, stream));
    TRY(expect_equal(device, out, inclusive, N, "DeviceScan::InclusiveSum"));
    TRY_CUDA(cub::DeviceScan::ExclusiveSum(memory, most, from, out, n, stream));
    TRY(expect_equal(device, out, exclusive, N, "DeviceScan::ExclusiveSum"));
    TRY_CUDA(cub::DeviceScan::InclusiveScan(memory, most, from, out, Larger(), n, stream));
    TRY(expect_equal(device, out, maxima, N, "DeviceScan::InclusiveScan"));
    TRY_CUDA(cub::DeviceScan::InclusiveSum(memory, most, twice, out, n, stream));
    return expect_equal(device, out, doubled, N, "DeviceScan over a transform_iterator");
}

static Status run_device_sums(const Device *device) {
    int x[N], *in;
    long long sums[2] = {0, 0}, *out;
    for (int i = 0; i < N; i++) {
        x[i] = element(i);
        sums[0] += x[i];
        sums[1] += 2 * x[i];
    }
    TRY(make_array(device, x, N, &in));
    TRY(make_array<long long>(device, NULL, 2, &out));
    const cudaStream_t stream = (cudaStream_t)device->stream();
    const int *const from = in;
    const auto twice = thrust::make_transform_iterator(from, Twice());
    void *memory = NULL;
    size_t bytes = 0, most = 0;
    const int n = N;
    TRY_CUDA(cub::DeviceReduce::Sum(memory, bytes, from, out, n, stream));
    most = bytes;
    TRY_CUDA(cub::DeviceReduce::Sum(memory, bytes, twice, out, n, stream));
    most = bytes > most ? bytes : most;
    TRY(device->allocate(most, &memory));
    TRY_CUDA(cub::DeviceReduce::Sum(memory, most, from, out, n, stream));
    TRY_CUDA(cub::DeviceReduce::Sum(memory, most, twice, out + 1, n, stream));
    return expect_equal(device, (const long long *)out, (const long long *)sums, 2, "DeviceReduce::Sum");
}

/* Runs of elements, and whether any was put behind another as a whole: an operator that could only append single ones would be
 * wrong. */
struct Run {
    int elements;
    bool wholes;
};
struct Join {
    __host__ __device__ Run operator()(const Run &a, const Run &b) const {
        return {a.elements + b.elements, a.wholes || b.wholes || b.elements > 1};
    }
};

static Status run_grouped_device_scan(const Device *device) {
    Run x[N], found[N], *in, *out;
    for (int i = 0; i < N; i++) x[i] = {1, false};
    TRY(make_array(device, x, N, &in));
    TRY(make_array<Run>(device, NULL, N, &out));
    const cudaStream_t stream = (cudaStream_t)device->stream();
    void *memory = NULL;
    size_t bytes = 0;
    TRY_CUDA(cub::DeviceScan::InclusiveScan(memory, bytes, (const Run *)in, out, Join(), (int)N, stream));
    TRY(device->allocate(bytes, &memory));
    TRY_CUDA(cub::DeviceScan::InclusiveScan(memory, bytes, (const Run *)in, out, Join(), (int)N, stream));
    TRY(device->wait("a scan of runs"));
    TRY(device->copy_out(found, out, sizeof found));
    for (int i = 0; i < N; i++)
        if (found[i].elements != i + 1)
            return status_fail(STATUS_CHECK, "DeviceScan put %d elements together of %d", found[i].elements, i + 1);
    return found[N - 1].wholes ? STATUS_OK : status_fail(STATUS_CHECK, "DeviceScan appended elements one by one");
}

/* Iterators of our own, an operator that does not commute, backwards through memory, and results that keep part of the scanned
 * value: what scans of affine maps ask of DeviceScan. */
struct Backwards : ScanIterator<Backwards, Affine<double>, Affine<double>> {
    const double *x;
    __host__ __device__ Affine<double> at(size_t i) const { return {i % 50 == 0 ? affine_cut<double>() : 0.5, x[N - 1 - i]}; }
};
struct KeepSum {
    double *y;
    __host__ __device__ void operator=(const Affine<double> &map) const { *y = map.b; }
};
struct Sums : ScanIterator<Sums, Affine<double>, KeepSum> {
    double *y;
    __host__ __device__ KeepSum at(size_t i) const { return {y + N - 1 - i}; }
};

static Status run_affine_device_scan(const Device *device) {
    double x[N], expected[N];
    Backwards in;
    Sums out;
    double *values, *sums;
    /* Multiples of 2^50, so that halving them 49 times is exact, and 53 bits hold every sum. */
    for (int i = 0; i < N; i++) x[i] = i % 50 == 7 ? 0x1p50 : 0;
    for (int i = N - 1; i >= 0; i--) expected[i] = (N - 1 - i) % 50 == 0 ? x[i] : 0.5 * expected[i + 1] + x[i];
    TRY(make_array(device, x, N, &values));
    TRY(make_array<double>(device, NULL, N, &sums));
    in.x = values;
    out.y = sums;
    const cudaStream_t stream = (cudaStream_t)device->stream();
    const size_t n = N;
    void *memory = NULL;
    size_t bytes = 0;
    TRY_CUDA(cub::DeviceScan::InclusiveScan(memory, bytes, in, out, ScanMerge(), n, stream));
    TRY(device->allocate(bytes, &memory));
    TRY_CUDA(cub::DeviceScan::InclusiveScan(memory, bytes, in, out, ScanMerge(), n, stream));
    return expect_equal(device, sums, expected, N, "DeviceScan of affine maps, backwards");
}

extern "C" const SelfTest CLEAN_CUB[] = {
    {"CUB in a block", run_block_operations, {}},         {"CUB over the device", run_device_scans, {}},
    {"CUB sums over the device", run_device_sums, {}},    {"CUB puts wholes together", run_grouped_device_scan, {}},
    {"CUB over affine maps", run_affine_device_scan, {}}, {NULL, NULL, {}},
};
