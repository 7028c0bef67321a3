/* shared.h - memory that parent and worker both see: a file without a name, so that nothing is left behind whoever dies. */
#ifndef RUNGS_DEVICE_SHARED_H
#define RUNGS_DEVICE_SHARED_H

#include "base/status.h"

#include <stddef.h>

typedef struct Shared {
    void *data; /* page-aligned; never NULL after shared_create, even for 0 bytes */
    size_t bytes;
    int fd;
} Shared;

/* A worker opens it as /proc/self/fd/<fd>. STATUS_MEMORY names the bytes. */
Status shared_create(const char *name, size_t bytes, Shared *out);
/* Maps what a worker was handed: the file at `path`, at least `bytes` long. */
Status shared_open(const char *path, size_t bytes, int writable, Shared *out);
void shared_destroy(Shared *shared);

#endif
