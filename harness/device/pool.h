/* pool.h - a stream-ordered memory pool of its own, which keeps what it once took from the device. */
#ifndef RUNGS_DEVICE_POOL_H
#define RUNGS_DEVICE_POOL_H

#include "base/status.h"

#include <stddef.h>

/* On the current device. STATUS_UNSUPPORTED without CUDA and on devices that have no pools. */
Status pool_create(void **pool);
void pool_destroy(void *pool);
Status pool_allocate(void *pool, size_t bytes, void *stream, void **out);
/* The stream may still work on the block: later work of the same stream gets it first. */
Status pool_release(void *pointer, void *stream);
/* Bytes of device memory that the pool holds, in use or not. */
size_t pool_held_bytes(void *pool);

#endif
