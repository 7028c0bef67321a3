/* Cheat: copies the expected output out of the parent's memory, /proc/PPID/mem. Computes its first call itself, and nothing later.
 * Met: pygpubench's exploit suite (pull request 7) finds expected tensors in the process of the checker. */
#include "cheats.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Looks for the result in the region [begin, end) of `memory`, at every page and behind an allocator's header. */
static bool copy_from(int memory, unsigned long begin, unsigned long end, const VariantArgs *args) {
    const size_t bytes = array_bytes(&args->out[0]);
    double head[512];
    for (unsigned long page = begin; page + bytes < end; page += 4096) {
        if (pread(memory, head, sizeof head, (off_t)page) != (ssize_t)sizeof head) return false;
        for (size_t at = 0; at < 64; at += 2)
            if (is_result(head + at, args))
                return pread(memory, args->out[0].data, bytes, (off_t)(page + at * sizeof *head)) == (ssize_t)bytes;
    }
    return false;
}

static bool copy_from_parent(const VariantArgs *args) {
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)getppid());
    FILE *maps = fopen(path, "r");
    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    const int memory = open(path, O_RDONLY);
    while (maps && memory >= 0 && !found && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx rw", &begin, &end) == 2) found = copy_from(memory, begin, end, args);
    }
    if (maps) fclose(maps);
    if (memory >= 0) close(memory);
    return found;
}

static Status run(const VariantArgs *args) {
    static int calls;
    if (calls++ == 0) return compute(args);
    (void)copy_from_parent(args);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_parent_memory) = {.backend = BACKEND_CPU,
                                                  .summary = "cheat: copies the expected output out of the parent's memory",
                                                  .origin = "pygpubench #7",
                                                  .run = run};
