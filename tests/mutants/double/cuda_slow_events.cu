/* Mutant: is right, and makes the driver's event times shorter by a third, in the tables by which the CUDA runtimes of this process
 * call it. Must be rejected: by the device's own timer and by the parent's clock its calls take longer. */
#include "cuda_cheats.cuh"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*Elapsed)(float *, void *, void *);
static Elapsed honest;

static int elapsed(float *milliseconds, void *begin, void *end) {
    const int error = honest(milliseconds, begin, end);
    *milliseconds *= 2.0F / 3;
    return error;
}

static void replace(uintptr_t from, uintptr_t to, Elapsed old) {
    for (uintptr_t *word = reinterpret_cast<uintptr_t *>(from); word < reinterpret_cast<uintptr_t *>(to); word++)
        if (*word == reinterpret_cast<uintptr_t>(old) && word != reinterpret_cast<uintptr_t *>(&honest))
            *word = reinterpret_cast<uintptr_t>(elapsed);
}

/* In all memory that may be written and is no device's. */
static void replace_everywhere(Elapsed old) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[8], path[256];
    unsigned long from, to;
    honest = old;
    while (maps && fgets(line, sizeof line, maps)) {
        *path = '\0';
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &from, &to, rights, path) < 3 || strncmp(rights, "rw-p", 4) != 0)
            continue;
        if (strncmp(path, "/dev/", 5) != 0 && strcmp(path, "[stack]") != 0 && to - from < ((size_t)64 << 20))
            replace(from, to, old);
    }
    if (maps) fclose(maps);
}

static Status run(const VariantArgs *args) {
    static bool done;
    if (!done) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        for (const char *name : {"cuEventElapsedTime", "cuEventElapsedTime_v2"})
            if (void *old = driver ? dlsym(driver, name) : nullptr) replace_everywhere(reinterpret_cast<Elapsed>(old));
    }
    done = true;
    return compute_on(args, args->stream);
}

RUNGS_VARIANT(double, cuda_slow_events) = {
    .backend = BACKEND_CUDA, .summary = "mutant: shortens event times", .origin = "tests", .run = run};
