/* Mutant: its work waits for nothing, on a stream of its own, into a block of its own; what it queues on the given stream only
 * copies. Must be rejected also where nobody counts kernels: a sample begins behind a hold of the whole device, and such work then
 * has the processors before the sample's own begin. */
#include "cuda_cheats.cuh"

static const unsigned long long WORK_NANOSECONDS = 100000;

struct Own {
    cudaStream_t stream;
    cudaEvent_t done;
    double *block;
};

static __global__ void double_slowly(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long begin = nanoseconds();
    while (nanoseconds() - begin < WORK_NANOSECONDS) continue;
    if (i < n) y[i] = 2 * x[i];
}

static Status prepare(const VariantArgs *args, void **state) {
    Own *own = new Own();
    *state = own;
    TRY_CUDA(cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking));
    TRY_CUDA(cudaEventCreateWithFlags(&own->done, cudaEventDisableTiming));
    TRY_CUDA(cudaMalloc(&own->block, array_bytes(&args->out[0])));
    return STATUS_OK;
}

static void release(void *state) {
    Own *own = (Own *)state;
    (void)cudaStreamDestroy(own->stream), (void)cudaEventDestroy(own->done), (void)cudaFree(own->block);
    delete own;
}

static Status run(const VariantArgs *args) {
    const Own *own = (const Own *)args->state;
    TRY(launch(double_slowly, one_each(args, own->stream), (const double *)args->in[0].data, own->block,
               array_count(&args->in[0])));
    TRY_CUDA(cudaEventRecord(own->done, own->stream));
    TRY_CUDA(cudaStreamWaitEvent((cudaStream_t)args->stream, own->done, 0));
    TRY_CUDA(cudaMemcpyAsync(args->out[0].data, own->block, array_bytes(&args->out[0]), cudaMemcpyDeviceToDevice,
                             (cudaStream_t)args->stream));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cuda_ahead_on_own_stream) = {.backend = BACKEND_CUDA,
                                                   .summary = "mutant: works ahead on its own stream",
                                                   .origin = "tests",
                                                   .not_emulated = "another stream",
                                                   .prepare = prepare,
                                                   .release = release,
                                                   .run = run};
