/* shared.h - memory that parent and worker both see: a file without a name, so that nothing is left behind whoever dies. */
#ifndef RUNGS_DEVICE_SHARED_H
#define RUNGS_DEVICE_SHARED_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Shared {
    void *data; /* page-aligned; never NULL after shared_create, even for 0 bytes */
    size_t bytes;
    int fd; /* -1 after shared_open */
} Shared;

/* A worker opens it as /proc/self/fd/<fd>. STATUS_MEMORY names the bytes. */
Status shared_create(const char *name, size_t bytes, Shared *out);
/* Before a worker gets it: nobody can change its size, which would kill all who read it, nor its seals; and, unless it is writable,
 * nobody but this process, through `data`, its contents. STATUS_IO if the kernel refuses. Once. */
Status shared_seal(Shared *shared, bool writable);
/* Maps what a worker was handed: the file at `path`, at least `bytes` long. Of /proc/self/fd/N only the mapping stays: N is closed,
 * so that a stray write to a descriptor cannot reach it. */
Status shared_open(const char *path, size_t bytes, bool writable, Shared *out);
void shared_destroy(Shared *shared);

#endif
