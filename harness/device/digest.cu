#include "device/digest.h"

#include "base/narrow.h"
#include "kernel.h"

enum { VARY_THREADS = 256 };
static const size_t VARY_BLOCKS_MOST = 1 << 16;
enum { DIGEST_THREADS = 256, DIGEST_BLOCKS = 1024, WARP = 32 };

static __global__ void __launch_bounds__(DIGEST_THREADS)
    digest_kernel(const unsigned char *data, size_t bytes, uint64_t seed, unsigned long long *sum) {
    const size_t past = reinterpret_cast<uintptr_t>(data) % DIGEST_STEP, before = past ? DIGEST_STEP - past : 0;
    const size_t head = before < bytes ? before : bytes, pairs = (bytes - head) / DIGEST_STEP;
    const size_t stride = (size_t)gridDim.x * blockDim.x, thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const ulonglong2 *pair = reinterpret_cast<const ulonglong2 *>(data + head);
    uint64_t own = 0;
    for (size_t i = thread; i < pairs; i += stride) {
        const ulonglong2 words = pair[i];
        own += digest_of_word(words.x, 2 * i, seed) + digest_of_word(words.y, 2 * i + 1, seed);
    }
    for (size_t i = thread; i < bytes - pairs * DIGEST_STEP; i += stride)
        own += digest_of_word(data[i < head ? i : i + pairs * DIGEST_STEP], 2 * pairs + i, seed);
    for (int step = WARP / 2; step > 0; step /= 2) own += __shfl_xor_sync(0xffffffffu, own, step);
    if (threadIdx.x % WARP == 0) atomicAdd(sum, own);
}

Status digest_gpu(const void *data, size_t bytes, uint64_t seed, void *word, void *stream, uint64_t *out) {
    const cudaStream_t ordered = static_cast<cudaStream_t>(stream);
    TRY_CUDA(cudaMemsetAsync(word, 0, sizeof *out, ordered));
    TRY(launch(digest_kernel, {DIGEST_BLOCKS, DIGEST_THREADS, 0, stream}, static_cast<const unsigned char *>(data), bytes, seed,
               static_cast<unsigned long long *>(word)));
    TRY_CUDA(cudaMemcpyAsync(out, word, sizeof *out, cudaMemcpyDeviceToHost, ordered));
    TRY_CUDA(cudaStreamSynchronize(ordered));
    return STATUS_OK;
}

Status digest_of(const void *data, size_t bytes, void *stream, uint64_t *out) {
    static void *word;
    if (!word) TRY_CUDA(cudaMalloc(&word, sizeof *out));
    return digest_gpu(data, bytes, 0, word, stream, out);
}

static __device__ unsigned char vary_element(const Vary &how, size_t i, const unsigned char *a, const unsigned char *) {
    return vary_turned(rng_at(how.element_key, i / 8), i, a[i]);
}

/* By the host's own arithmetic, so that both make the same bits. */
template <typename Bits, int EXPONENT_BITS, int FRACTION_BITS, bool FINITE = false> struct Narrow {
    Bits bits;
    static __device__ NarrowForm form() { return {EXPONENT_BITS, FRACTION_BITS, FINITE}; }
    explicit __device__ Narrow(double x) : bits(static_cast<Bits>(narrow_bits(form(), x))) {}
    __device__ operator double() const { return narrow_value(form(), bits); }
};

template <typename T> static __device__ T vary_element(const Vary &how, size_t i, const T *a, const T *b) {
    if (how.how == VARY_SHUFFLE) {
        const size_t source = order_source(&how.rows.order, i);
        const T other = vary_bits(&how, i / VARY_BITS) >> i % VARY_BITS & 1 ? b[source] : a[source];
        return static_cast<T>(vary_shuffled(a[i], other));
    }
    if (how.how != VARY_MIX) return static_cast<T>(vary_number(&how, i, a[i]));
    return vary_takes(vary_bits(&how, i / VARY_BITS), i, a[i], b[i]) ? b[i] : a[i];
}

template <typename T>
static __global__ void __launch_bounds__(VARY_THREADS) vary_kernel(Vary how, size_t n, const T *a, const T *b, T *to) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) to[i] = vary_element(how, i, a, b);
}

template <typename T> static Status vary_as(const Vary *how, size_t n, const void *a, const void *b, void *to, void *stream) {
    const size_t wanted = (n + VARY_THREADS - 1) / VARY_THREADS, blocks = wanted < VARY_BLOCKS_MOST ? wanted : VARY_BLOCKS_MOST;
    return launch(vary_kernel<T>, {static_cast<unsigned>(blocks), VARY_THREADS, 0, stream}, *how, n, static_cast<const T *>(a),
                  static_cast<const T *>(b), static_cast<T *>(to));
}

/* A thread finds its first row and goes on from there: the longer, the less all threads search. */
static __global__ void __launch_bounds__(VARY_THREADS) vary_rows_kernel(Vary how, size_t share, size_t n, const void *a, void *to) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k * share < n; k += stride)
        vary_rows(&how, k * share, (k + 1) * share < n ? (k + 1) * share : n, a, to);
}

static Status vary_rows_gpu(const Vary *how, size_t n, const void *a, void *to, void *stream) {
    enum { ROWS = 64, BYTES = 512 }; /* of a thread */
    const size_t share = how->how == VARY_ROW_BYTES || how->how == VARY_ROW_LETTERS ? BYTES : ROWS;
    const size_t wanted = n / share / VARY_THREADS + 1, blocks = wanted < VARY_BLOCKS_MOST ? wanted : VARY_BLOCKS_MOST;
    return launch(vary_rows_kernel, {static_cast<unsigned>(blocks), VARY_THREADS, 0, stream}, *how, share, n, a, to);
}

Status vary_gpu(const Vary *how, DType dtype, size_t n, const void *a, const void *b, void *to, void *stream) {
    if (vary_moves_rows(how->how)) return vary_rows_gpu(how, n, a, to, stream);
    if (how->how == VARY_LETTERS) return vary_as<unsigned char>(how, n, a, b, to, stream);
    if (dtype == DTYPE_F32) return vary_as<float>(how, n, a, b, to, stream);
    if (dtype == DTYPE_F64) return vary_as<double>(how, n, a, b, to, stream);
    if (dtype == DTYPE_F16) return vary_as<Narrow<uint16_t, 5, 10>>(how, n, a, b, to, stream);
    if (dtype == DTYPE_BF16) return vary_as<Narrow<uint16_t, 8, 7>>(how, n, a, b, to, stream);
    if (dtype == DTYPE_E4M3) return vary_as<Narrow<uint8_t, 4, 3, true>>(how, n, a, b, to, stream);
    if (dtype == DTYPE_E5M2) return vary_as<Narrow<uint8_t, 5, 2>>(how, n, a, b, to, stream);
    return status_fail(STATUS_INTERNAL, "%s is not varied", dtype_name(dtype));
}
