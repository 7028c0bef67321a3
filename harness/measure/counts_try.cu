/* Tests whether counting works on this machine, with a copy of known size. */
#include "kernel.h"
#include "measure/counts.h"

enum { COPY_THREADS = 256 };
static const size_t COPY_BYTES = (size_t)64 << 20;

static __global__ void __launch_bounds__(COPY_THREADS) copy_kernel(const uint4 *from, uint4 *to, size_t n) {
    const size_t i = blockIdx.x * static_cast<size_t>(COPY_THREADS) + threadIdx.x;
    if (i < n) to[i] = from[i];
}

struct Copy {
    uint4 *from, *to;
    void *stream;
};

static Status run_copy(void *context) {
    const Copy *copy = static_cast<const Copy *>(context);
    const size_t n = COPY_BYTES / sizeof(uint4);
    return launch(copy_kernel, {static_cast<unsigned>((n + COPY_THREADS - 1) / COPY_THREADS), COPY_THREADS, 0, copy->stream},
                  copy->from, copy->to, n);
}

static Status copy_open(Copy *copy, void *stream) {
    *copy = Copy{nullptr, nullptr, stream};
    TRY_CUDA(cudaMalloc(&copy->from, COPY_BYTES));
    TRY_CUDA(cudaMalloc(&copy->to, COPY_BYTES));
    TRY_CUDA(cudaMemset(copy->from, 1, COPY_BYTES));
    return STATUS_OK;
}

static void copy_close(Copy *copy) {
    (void)cudaFree(copy->from);
    (void)cudaFree(copy->to);
}

Status counts_try_activity(void *stream) {
    Copy copy;
    ActivityList list = {};
    const MeasuredWork work = {run_copy, &copy};
    Status status = copy_open(&copy, stream);
    if (status == STATUS_OK) status = counts_activity(&work, stream, false, &list);
    const size_t launches = activity_count(&list, ACTIVITY_KERNEL);
    if (status == STATUS_OK && launches != 1)
        status = status_fail(STATUS_UNSUPPORTED, "CUPTI reported %zu launches instead of one", launches);
    activity_free(&list);
    copy_close(&copy);
    return status;
}

/* Some lines of what a call wrote may still be missing, but neither nothing nor everything twice. */
static bool plausible(double bytes) {
    return bytes > 0.5 * static_cast<double>(COPY_BYTES) && bytes < 1.5 * static_cast<double>(COPY_BYTES);
}

Status counts_try_bytes(void *stream) {
    Copy copy;
    ByteCounts bytes = {};
    const MeasuredWork work = {run_copy, &copy};
    Status status = copy_open(&copy, stream);
    if (status == STATUS_OK) status = counts_bytes(&work, stream, &bytes);
    copy_close(&copy);
    if (status == STATUS_OK && !(plausible(bytes.read) && plausible(bytes.written + bytes.written_behind)))
        return status_fail(STATUS_UNSUPPORTED, "CUPTI reported %.0f bytes read and %.0f written for a copy of %zu", bytes.read,
                           bytes.written + bytes.written_behind, COPY_BYTES);
    return status;
}
