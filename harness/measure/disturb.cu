/* A load beside repeated calls: blocks that fill whole processors and only wait, so that those of a call come late, in another
 * order or fewer at a time. */
#include "base/rng.h"
#include "kernel.h"
#include "measure/measure.h"

enum { LOAD_THREADS = 1024, LOAD_A_PROCESSOR = 2, UNDISTURBED = 4 };
static const double LONGEST_SECONDS = 10e-3;

static cudaStream_t aside;

static __global__ void __launch_bounds__(LOAD_THREADS) load_kernel(unsigned long long nanoseconds) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        __nanosleep(200);
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}

/* A share of up to `most` seconds. */
static unsigned long long part_of(double most, uint64_t random, uint64_t index) {
    return static_cast<unsigned long long>(1e9 * most * rng_uniform(random, index));
}

Status disturb_gpu(uint64_t random, double call_seconds) {
    int device = 0, processors = 0;
    if (!aside) TRY_CUDA(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking));
    TRY_CUDA(cudaStreamSynchronize(aside)); /* the one before */
    if (rng_at(random, 0) % UNDISTURBED == 0) return STATUS_OK;
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    const unsigned taken = 1 + static_cast<unsigned>(rng_at(random, 1) % static_cast<unsigned>(processors));
    const double most = call_seconds < LONGEST_SECONDS ? call_seconds : LONGEST_SECONDS;
    TRY(launch(load_kernel, {1, 32, 0, aside}, part_of(most, random, 2)));
    return launch(load_kernel, {taken * LOAD_A_PROCESSOR, LOAD_THREADS, 0, aside}, part_of(most, random, 3));
}

void disturb_gpu_end(void) {
    if (!aside) return;
    (void)cudaStreamSynchronize(aside);
    (void)cudaStreamDestroy(aside);
    aside = nullptr;
}
