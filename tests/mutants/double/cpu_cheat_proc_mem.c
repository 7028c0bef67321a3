/* Cheat: zeroes its inputs, which it may only read, through /proc/self/mem and answers zero. Met: submission_proc_mem_bypass in
 * pygpubench's exploit suite. */
#include "cheats.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static Status run(const VariantArgs *args) {
    static const char zeros[4096];
    const size_t bytes = array_bytes(&args->in[0]);
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    memset(args->out[0].data, 0, bytes);
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
        if (pwrite(memory, zeros, part, (off_t)((uintptr_t)args->in[0].data + at)) < 0) break; /* this way is closed */
    }
    if (memory >= 0) close(memory);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_proc_mem) = {
    .backend = BACKEND_CPU, .summary = "cheat: zeroes its inputs through /proc", .origin = "pygpubench", .run = run};
