/* device.h - where variants run and their arrays live: one table of functions per kind of device. */
#pragma once

#include "base/array.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct Vary;

__BEGIN_DECLS

typedef struct Device {
    const char *kind; /* "cpu", "cuda", "emulator" */
    bool timed;       /* false: results are verified, never timed */
    /* Chooses the device and makes the stream; errors say what the machine lacks. */
    Status (*open)(int index);
    void (*close)(void);
    /* 256-byte aligned; STATUS_MEMORY names the bytes asked for and those free. */
    Status (*allocate)(size_t bytes, void **out);
    void (*release)(void *pointer);
    Status (*copy_in)(void *device, const void *host, size_t bytes);
    Status (*copy_out)(void *host, const void *device, size_t bytes);
    Status (*fill)(void *device, unsigned char byte, size_t bytes);
    /* Between two places of the device, in the order of its stream. */
    Status (*copy)(void *to, const void *from, size_t bytes);
    /* Waits for the stream and reports what went wrong in it; `what` names the work in the message. */
    Status (*wait)(const char *what);
    void *(*stream)(void);
    /* Bytes in use on the device (CUDA: used device memory; CPU: malloc's). To find leaks by difference. NULL: unknown. */
    size_t (*in_use)(void);
    /* What grows by less is not an allocation that was kept: CUDA takes memory from the device 2 MiB at a time, and its driver some
     * 64 KiB now and then for itself. 0: every byte tells. */
    size_t in_use_step;
    /* From now on variants may neither read nor write these bytes, the beginning or the end of an allocation; copy_in, copy_out and
     * fill still may. NULL: the device cannot watch. */
    void (*forbid)(void *from, size_t bytes);
    /* Guards around a buffer are as large as the buffer, up to this; 0: GUARD_BYTES, since what lies beyond cannot be touched. */
    size_t guard_most;
    /* What an allocation takes of memory is a multiple of this: a lower guard grows by what would be left; 0: nothing is left. */
    size_t granularity;
    /* The name of an allocation and its payload, for the message when a variant faults in or beside it. NULL: the device's messages
     * have no names. */
    void (*describe)(void *pointer, const char *name, const void *payload, size_t bytes);
    /* A 64-bit checksum, computed on the device, to detect changes within this process: a random seed makes it another one in each.
     * Two blocks that differ have the same with a probability of 2^-64. NULL: compare the bytes. */
    Status (*digest)(const void *data, size_t bytes, uint64_t *out);
    /* What base/vary.h makes of a and b, n elements each, on the device. NULL: it is made on the host. */
    Status (*vary)(const struct Vary *how, DType dtype, size_t n, const void *a, const void *b, void *to);
    /* Makes a whole allocation readable only, or writable again: writing to it ends the process. NULL: the device cannot. */
    Status (*protect)(void *pointer, bool read_only);
} Device;

const Device *device_cpu(void);
const Device *device_cuda(void);     /* NULL when built without CUDA */
const Device *device_emulator(void); /* NULL outside the emulator's executables */

/* Can this process start the threads that references, inputs and CPU variants need? Starts one OpenMP team in a child, once in a
 * process and before its own first team: OpenMP calls exit(1) where it gets no thread, which would look like a failed check. A
 * process that has threads already passes. STATUS_UNSUPPORTED with OpenMP's message. */
Status threads_check(void);

/* What of the process handles signals now is the harness's own, or a sanitizer's; asked before the first variant is loaded. */
void handlers_remember(void);
/* STATUS_CHECK if something else handles one. */
Status handlers_check(void);

/* Number of usable CUDA devices (0 without driver or build); why: the reason if 0. Does not create a context. */
int device_cuda_count(char *why, size_t why_size);
/* For the environment line: name, uuid, compute_capability, sm_count, l2_bytes, memory_bytes, shared_bytes_per_block, runtime. New
 * reference. */
Status device_cuda_facts(int index, struct json_t **out);
/* The UUID of the device in use, "GPU-..."; "" if there is none. */
void device_cuda_uuid(char uuid[48]);

/* A stream-ordered memory pool of its own on the current CUDA device, which keeps what it once took from it. STATUS_UNSUPPORTED
 * on devices that have no pools. */
Status pool_create(void **pool);
void pool_destroy(void *pool);
Status pool_allocate(void *pool, size_t bytes, void *stream, void **out);
/* The stream may still work on the block: later work of the same stream gets it first. */
Status pool_release(void *pointer, void *stream);
/* Bytes of device memory that the pool holds, in use or not. */
size_t pool_held_bytes(void *pool);

__END_DECLS
