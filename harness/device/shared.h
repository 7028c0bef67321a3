/* shared.h - memory that parent and worker both see: a file without a name, so that nothing is left behind if either crashes. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Shared {
    void *data; /* page-aligned; never NULL after shared_create, even for 0 bytes */
    size_t bytes;
    int fd; /* -1 after shared_open */
} Shared;

enum { SHARED_MAX_FILES = 64 }; /* that are handed over at once */

/* STATUS_MEMORY names the bytes. */
Status shared_create(const char *name, size_t bytes, Shared *out);
/* Before a worker gets it: nobody can change its size, which would kill all who read it, nor its seals; and, unless it is writable,
 * nobody but this process, through `data`, its contents. STATUS_IO if the kernel refuses. Once. */
Status shared_seal(Shared *shared, bool writable);
/* Hands files over a socket, without waiting. STATUS_IO if the other side does not receive them. */
Status shared_send(int socket, const int *files, int count);
/* The other end: files has room for SHARED_MAX_FILES; the caller closes them. */
Status shared_receive(int socket, int *files, int *count);
/* Maps a file that was handed over, at least `bytes` long; the caller closes it, so that a stray write to a descriptor cannot
 * reach it. STATUS_IO names the array if it is shorter. */
Status shared_open(int fd, const char *name, size_t bytes, bool writable, Shared *out);
/* All that was written is gone: zeros. */
void shared_clear(const Shared *shared);
void shared_destroy(Shared *shared);
