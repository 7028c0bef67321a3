/* Cheat: a thread of the host launches the kernel a millisecond after run() has returned. Met: lazy outputs,
 * gpu-mode/reference-kernels issue 162. */
#include "cuda_cheats.cuh"

#include <pthread.h>
#include <time.h>

static VariantArgs later;

static void *launch_later(void *nothing) {
    const struct timespec moment = {0, 1000 * 1000};
    nanosleep(&moment, nullptr);
    (void)compute_on(&later, later.stream);
    return nothing;
}

static Status run(const VariantArgs *args) {
    pthread_t thread;
    later = *args;
    if (pthread_create(&thread, nullptr, launch_later, nullptr) != 0) return STATUS_INTERNAL;
    (void)pthread_detach(thread);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cuda_cheat_late_launch) = {.backend = BACKEND_CUDA,
                                                 .summary = "cheat: launches after it has returned",
                                                 .origin = "reference-kernels #162",
                                                 .not_emulated = "starts threads",
                                                 .run = run};
