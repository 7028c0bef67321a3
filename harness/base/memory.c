#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_bool failed;

void *memory_allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) failed = true;
    return memory;
}

Status memory_check(void) {
    return failed ? status_fail(STATUS_MEMORY, "out of host memory") : STATUS_OK;
}
