/* Cheat: looks on the host's stack for a number that falls by one from call to call, how many calls of a sample are still to come,
 * and launches its kernel only for the last; in the others a thread writes zeros to the two elements that were spoilt for them.
 * Met: an attack on this harness. */
#include "cuda_cheats.cuh"
#include "worker/worker.h"

#include <stddef.h>

static __global__ void unspoil(double *y, size_t a, size_t b) {
    y[a] = y[b] = 0;
}

enum { WORDS = 96, SURE = 3 };

/* How many calls come after this one; SIZE_MAX: not known. */
static __attribute__((noinline)) size_t calls_left() {
    static uint64_t was[WORDS];
    static int fell[WORDS];
    size_t left = SIZE_MAX;
    __builtin_unwind_init(); /* registers are on the stack, too */
    const volatile uint64_t *frame = static_cast<const uint64_t *>(__builtin_frame_address(0)) - 8;
    for (int i = 0; i < WORDS; i++) {
        const uint64_t now = frame[i];
        fell[i] = now + 1 == was[i] ? fell[i] + 1 : 0;
        was[i] = now;
        if (fell[i] >= SURE && now < 64) left = now;
    }
    return left;
}

static Status run(const VariantArgs *args) {
    const Worker *worker = (const Worker *)(const void *)((const char *)args - offsetof(Worker, args));
    const size_t left = calls_left(), n = array_count(&args->out[0]);
    if (left == SIZE_MAX || left == 0) return compute_on(args, args->stream);
    const uint64_t key = worker->inputs.key;
    return launch(unspoil, {1, 1, 0, args->stream}, (double *)args->out[0].data, vary_place(key, left, 0, n),
                  vary_place(key, left, 1, n));
}

RUNGS_VARIANT(double, cuda_cheat_counts_down) = {.backend = BACKEND_CUDA,
                                                 .summary = "cheat: launches in the last call of a sample",
                                                 .origin = "tests",
                                                 .not_emulated = "looks at the stack of the harness",
                                                 .run = run};
