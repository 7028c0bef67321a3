/* memory.h - buffers with guard words on both sides, poison, and change detection, on any device. */
#pragma once

#include "base/array.h"
#include "base/vary.h"
#include "device/device.h"

__BEGIN_DECLS

enum { GUARD_BYTES = 4096 }; /* of the smallest guard */

typedef struct Buffer {
    Array array;                /* array.data points between the guards, on the device */
    void *base;                 /* the whole allocation */
    size_t bytes, below, above; /* of the payload and of the two guards */
    const Device *device;
    uint64_t below_digest, above_digest, payload_digest; /* of the guards as written, of the last upload; 0: none was computed */
} Buffer;

/* Allocates room for `shape` (a description without data) between two guards filled with a known pattern. The upper guard begins
 * at the byte after the last element. On the CPU guards are GUARD_BYTES or a little more, and beyond them lie inaccessible pages of
 * the buffer's size, 16 MiB at least; on a GPU they are as large as the buffer, up to 8 MiB. */
Status buffer_create(const Device *device, const Array *shape, Buffer *out);
void buffer_destroy(Buffer *buffer);
/* Fills the payload with poison (base/poison.h): bytes POISON_BYTE at first. */
Status buffer_poison(Buffer *buffer);
/* From now on with this byte, another of POISONS. */
void buffer_poison_with(unsigned char byte);
unsigned char buffer_poison_byte(void);
/* Fills the payload, which variants may only read from then on: on the CPU, writing to it ends the process. */
Status buffer_upload(Buffer *buffer, const void *host);
/* The same with what base/vary.h makes of two arrays of the payload's size on the device, which has vary(), or on the host. */
Status buffer_vary(Buffer *buffer, const Vary *how, const void *a, const void *b);
Status buffer_vary_from_host(Buffer *buffer, const Vary *how, const void *a, const void *b);
/* The payload can be written to until it is filled again. */
Status buffer_open(const Buffer *buffer);
/* STATUS_CHECK naming the array, the side and the first byte's distance if a guard changed. */
Status buffer_check_guards(const Buffer *buffer);
/* By its digest; false: it may have changed, or the device has no digests. */
Status buffer_seems_unchanged(const Buffer *buffer, bool *out);
/* STATUS_CHECK naming the array and the first element if the payload differs from `host`, which it was uploaded from: bit by bit,
 * or by digest if it is large. */
Status buffer_check_unchanged(const Buffer *buffer, const void *host);
/* Offset of the first byte in which memory of the device and of the host differ; `bytes` if there is none. */
Status device_first_difference(const Device *device, const void *data, const void *host, size_t bytes, size_t *at);
/* Is every byte of element i of this host copy poison, i.e. never written? */
bool poison_element(const void *host, DType dtype, size_t index);

__END_DECLS
