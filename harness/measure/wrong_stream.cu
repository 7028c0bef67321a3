#include "measure/measure.h"

#include "kernel.h"
#include "measure/gpu_queue.h"

#include <time.h>

enum { LOOK_THREADS = 256, LOOK_BLOCKS = 256 };
/* A variant that waits for its own stream, as every cudaFree does, is let go after this, and then nothing is concluded. Any other
 * only queues its work, and the watching is over well before. */
static const double HOLD_SECONDS = 0.25;
static const long WATCH_NANOSECONDS = 20 * 1000 * 1000; /* long enough for a stray kernel to have written something */

struct Watch {
    GpuQueue queue;
    cudaStream_t aside; /* waits for nothing */
    unsigned *found;    /* on the device: how many bytes are not poison */
    const Array *outputs;
    int count;
    unsigned char poison;
};

static __global__ void __launch_bounds__(LOOK_THREADS)
    look_kernel(const unsigned char *bytes, size_t count, unsigned char poison, unsigned *found) {
    const size_t words = count / sizeof(uint4), stride = (size_t)gridDim.x * blockDim.x;
    const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 *word = reinterpret_cast<const uint4 *>(bytes); /* an output begins at a multiple of 256 bytes */
    const unsigned four = 0x01010101u * poison;
    bool other = false;
    for (size_t i = thread; i < words; i += stride) {
        const uint4 w = word[i];
        other = other || w.x != four || w.y != four || w.z != four || w.w != four;
    }
    for (size_t i = words * sizeof(uint4) + thread; i < count; i += stride) other = other || bytes[i] != poison;
    if (other) atomicAdd(found, 1u);
}

/* Is there anything but poison in the outputs? */
static Status look(Watch *watch, bool *other) {
    unsigned found = 0;
    TRY_CUDA(cudaMemsetAsync(watch->found, 0, sizeof found, watch->aside));
    for (int i = 0; i < watch->count; i++)
        TRY(launch(look_kernel, {LOOK_BLOCKS, LOOK_THREADS, 0, watch->aside},
                   static_cast<const unsigned char *>(watch->outputs[i].data), array_bytes(&watch->outputs[i]), watch->poison,
                   watch->found));
    TRY_CUDA(cudaMemcpyAsync(&found, watch->found, sizeof found, cudaMemcpyDeviceToHost, watch->aside));
    TRY_CUDA(cudaStreamSynchronize(watch->aside));
    *other = found != 0;
    return STATUS_OK;
}

static Status watch_call(Watch *watch, Status (*run)(void *), void *context, bool *stray) {
    bool other = false;
    TRY(look(watch, &other)); /* also loads the kernel: under the blocking kernel that could wait for ever */
    if (other) return status_fail(STATUS_INTERNAL, "the outputs were to be poisoned before the stream is watched");
    TRY(gpu_queue_hold(&watch->queue, HOLD_SECONDS));
    Status status = run(context);
    const struct timespec moment = {0, WATCH_NANOSECONDS};
    nanosleep(&moment, NULL);
    if (status == STATUS_OK) status = look(watch, &other);
    gpu_queue_release(&watch->queue);
    TRY_CUDA(cudaStreamSynchronize(watch->queue.stream));
    TRY_CUDA(cudaDeviceSynchronize()); /* whatever strayed is over before anybody reads on */
    if (status == STATUS_OK && !gpu_queue_timed_out(&watch->queue)) *stray = other;
    return status;
}

Status wrong_stream_gpu(Status (*run)(void *), void *context, void *stream, const Array *outputs, int count, unsigned char poison,
                        bool *stray) {
    Watch watch = {};
    void *found = NULL;
    *stray = false;
    watch.outputs = outputs;
    watch.count = count;
    watch.poison = poison;
    TRY(gpu_queue_open(&watch.queue, stream, false));
    Status status = STATUS_OK;
    if (cudaMalloc(&found, sizeof *watch.found) != cudaSuccess ||
        cudaStreamCreateWithFlags(&watch.aside, cudaStreamNonBlocking) != cudaSuccess)
        status = status_fail(STATUS_DEVICE, "no second stream to watch from");
    watch.found = static_cast<unsigned *>(found);
    if (status == STATUS_OK) status = watch_call(&watch, run, context, stray);
    if (watch.aside) (void)cudaStreamDestroy(watch.aside);
    if (found) (void)cudaFree(found);
    gpu_queue_close(&watch.queue);
    return status;
}
