/* Guards, poison and change detection over any Device. Only the device's own functions touch it, so the same file serves the CPU,
 * CUDA and the emulator. */
#include "device/memory.h"

#include "base/bytes.h"
#include "base/poison.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Guard word i. The upper half makes every f32 and every f64 of a guard a quiet NaN, so a result that depends on what was read out
 * of bounds shows; the lower half is the position mixed with the buffer's address, so that a guard copied onto the guard of another
 * buffer shows too: y[i] = 2 * x[i] past both ends writes x's guard over y's, NaN for NaN (seen on an H200). It differs from the
 * canonical NaN (0x7ff8...) that a variant may write, and no byte of it is 0, which is what a single byte too many mostly is. */
static uint32_t guard_word(const void *base, size_t i) {
    const uint32_t salt = (uint32_t)((uintptr_t)base >> 8) * UINT32_C(0x9e3779b1);
    uint32_t low = (salt >> 16) ^ (uint32_t)i;
    if ((low & 0xff) == 0) low |= 0x5a;
    if ((low & 0xff00) == 0) low |= 0x5a00;
    return UINT32_C(0xfffd0000) | low;
}

static const size_t CHUNK_BYTES = (size_t)64 << 20; /* of host memory for comparing with the device */

/* Guards are written and compared in pieces without malloc: what it has in use shows leaks of variants. */
enum { PIECE_BYTES = 1 << 18, ALIGNMENT = 256 };
static uint32_t expected[PIECE_BYTES / sizeof(uint32_t)];
static unsigned char actual[PIECE_BYTES];

/* Bytes [from, from + PIECE_BYTES) of a guard into `expected`, or to its end. Returns how many. */
static size_t expect_piece(const Buffer *buffer, size_t guard, size_t from) {
    const size_t left = guard - from, length = left < PIECE_BYTES ? left : PIECE_BYTES;
    for (size_t i = 0; i < length / sizeof *expected; i++) expected[i] = guard_word(buffer->base, from / sizeof *expected + i);
    return length;
}

static size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static void choose_guards(const Device *device, Buffer *buffer) {
    const size_t wanted = buffer->bytes < device->guard_most ? buffer->bytes : device->guard_most;
    buffer->below = buffer->above = round_up(wanted > GUARD_BYTES ? wanted : GUARD_BYTES, GUARD_BYTES);
    const size_t block = buffer->below + round_up(buffer->bytes, ALIGNMENT) + buffer->above;
    if (device->granularity) buffer->below += round_up(block, device->granularity) - block;
}

static Status payload_bytes(const Array *shape, size_t *bytes) {
    size_t total = dtype_size(shape->dtype);
    for (int d = 0; d < shape->rank; d++)
        if (__builtin_mul_overflow(total, shape->shape[d], &total)) total = SIZE_MAX;
    /* A zero further on makes the product 0 whatever came before it. */
    for (int d = 0; d < shape->rank; d++)
        if (shape->shape[d] == 0) total = 0;
    if (total > SIZE_MAX / 2) return status_fail(STATUS_MEMORY, "%s: larger than the address space", shape->name);
    *bytes = total;
    return STATUS_OK;
}

static unsigned char *end_of(const Buffer *buffer) {
    return (unsigned char *)buffer->array.data + buffer->bytes;
}

/* 0 if the device has no digests, and for small blocks, which are as quick to compare. */
static Status take_digest(const Buffer *buffer, const void *data, size_t bytes, uint64_t *out) {
    *out = 0;
    return buffer->device->digest && bytes > PIECE_BYTES ? buffer->device->digest(data, bytes, out) : STATUS_OK;
}

/* True: the bytes have not changed since the digest `before`. False: compare them. */
static Status same_digest(const Buffer *buffer, const void *data, size_t bytes, uint64_t before, bool *same) {
    uint64_t now = 0;
    TRY(take_digest(buffer, data, bytes, &now));
    *same = now != 0 && now == before;
    return STATUS_OK;
}

static Status write_guard(const Buffer *buffer, void *to, size_t bytes) {
    for (size_t from = 0; from < bytes; from += PIECE_BYTES) {
        const size_t length = expect_piece(buffer, bytes, from);
        TRY(buffer->device->copy_in((unsigned char *)to + from, expected, length));
    }
    if (buffer->device->forbid) buffer->device->forbid(to, bytes);
    return STATUS_OK;
}

static Status write_guards(Buffer *buffer) {
    TRY(write_guard(buffer, buffer->base, buffer->below));
    TRY(write_guard(buffer, end_of(buffer), buffer->above));
    TRY(take_digest(buffer, buffer->base, buffer->below, &buffer->below_digest));
    TRY(take_digest(buffer, end_of(buffer), buffer->above, &buffer->above_digest));
    if (buffer->device->describe) buffer->device->describe(buffer->base, buffer->array.name, buffer->array.data, buffer->bytes);
    return STATUS_OK;
}

Status buffer_create(const Device *device, const Array *shape, Buffer *out) {
    *out = (Buffer){.array = *shape, .device = device};
    out->array.data = NULL;
    TRY(payload_bytes(shape, &out->bytes));
    choose_guards(device, out);
    void *base = NULL;
    const Status allocated = device->allocate(out->below + out->bytes + out->above, &base);
    if (allocated != STATUS_OK) out->bytes = 0;
    if (allocated != STATUS_OK) return status_prefix(allocated, "array %s: ", shape->name);
    out->base = base;
    out->array.data = (unsigned char *)base + out->below;
    const Status written = write_guards(out);
    if (written != STATUS_OK) buffer_destroy(out);
    return written;
}

void buffer_destroy(Buffer *buffer) {
    if (buffer->base) buffer->device->release(buffer->base);
    buffer->base = NULL;
    buffer->array.data = NULL;
    buffer->bytes = 0;
}

static unsigned char poison = POISON_BYTE;

void buffer_poison_with(unsigned char byte) {
    poison = byte;
}

unsigned char buffer_poison_byte(void) {
    return poison;
}

Status buffer_poison(Buffer *buffer) {
    return buffer->bytes ? buffer->device->fill(buffer->array.data, poison, buffer->bytes) : STATUS_OK;
}

static Status protect(const Buffer *buffer, bool read_only) {
    return buffer->device->protect ? buffer->device->protect(buffer->base, read_only) : STATUS_OK;
}

Status buffer_open(const Buffer *buffer) {
    return buffer->bytes ? protect(buffer, false) : STATUS_OK;
}

/* The payload is written from here on variants may read it only. */
static Status close_payload(Buffer *buffer) {
    TRY(protect(buffer, true));
    return take_digest(buffer, buffer->array.data, buffer->bytes, &buffer->payload_digest);
}

Status buffer_upload(Buffer *buffer, const void *host) {
    if (buffer->bytes == 0) return STATUS_OK;
    TRY(protect(buffer, false));
    TRY(buffer->device->copy_in(buffer->array.data, host, buffer->bytes));
    return close_payload(buffer);
}

Status buffer_vary(Buffer *buffer, const Vary *how, const void *a, const void *b) {
    TRY(protect(buffer, false));
    TRY(buffer->device->vary(how, buffer->array.dtype, array_count(&buffer->array), a, b, buffer->array.data));
    return close_payload(buffer);
}

Status buffer_vary_from_host(Buffer *buffer, const Vary *how, const void *a, const void *b) {
    const size_t size = dtype_size(buffer->array.dtype), count = array_count(&buffer->array), step = sizeof actual / size;
    TRY(protect(buffer, false));
    for (size_t begin = 0; begin < count; begin += step) {
        const size_t end = count - begin < step ? count : begin + step;
        vary_some(how, buffer->array.dtype, begin, end, a, b, (void *)((uintptr_t)actual - begin * size));
        TRY(buffer->device->copy_in((unsigned char *)buffer->array.data + begin * size, actual, (end - begin) * size));
    }
    return close_payload(buffer);
}

static Status guard_overwritten(const Buffer *buffer, bool past_end, size_t distance) {
    const size_t size = dtype_size(buffer->array.dtype), count = array_count(&buffer->array);
    char shape[96];
    array_describe(&buffer->array, shape, sizeof shape);
    if (past_end)
        return status_fail(STATUS_CHECK,
                           "%s %s: written past its end: the first changed byte is %zu after the last element (index %zu)",
                           buffer->array.name, shape, distance, count + distance / size);
    return status_fail(STATUS_CHECK,
                       "%s %s: written before its start: the nearest changed byte is %zu before element 0 (index -%zu)",
                       buffer->array.name, shape, distance, (distance + size - 1) / size);
}

/* From the payload outwards: nearest first. */
static Status check_below(const Buffer *buffer) {
    bool same;
    TRY(same_digest(buffer, buffer->base, buffer->below, buffer->below_digest, &same));
    if (same) return STATUS_OK;
    for (size_t from = (buffer->below - 1) / PIECE_BYTES * PIECE_BYTES;; from -= PIECE_BYTES) {
        const size_t length = expect_piece(buffer, buffer->below, from);
        TRY(buffer->device->copy_out(actual, (const unsigned char *)buffer->base + from, length));
        for (size_t i = memcmp(actual, expected, length) ? length : 0; i-- > 0;)
            if (actual[i] != ((const unsigned char *)expected)[i])
                return guard_overwritten(buffer, false, buffer->below - from - i);
        if (from == 0) return STATUS_OK;
    }
}

static Status check_above(const Buffer *buffer) {
    bool same;
    TRY(same_digest(buffer, end_of(buffer), buffer->above, buffer->above_digest, &same));
    if (same) return STATUS_OK;
    for (size_t from = 0; from < buffer->above; from += PIECE_BYTES) {
        const size_t length = expect_piece(buffer, buffer->above, from);
        TRY(buffer->device->copy_out(actual, end_of(buffer) + from, length));
        const size_t at = bytes_first_difference(actual, expected, length);
        if (at < length) return guard_overwritten(buffer, true, from + at);
    }
    return STATUS_OK;
}

Status buffer_check_guards(const Buffer *buffer) {
    TRY(check_below(buffer));
    return check_above(buffer);
}

Status device_first_difference(const Device *device, const void *data, const void *host, size_t bytes, size_t *at) {
    const size_t room = bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
    *at = bytes;
    if (room == 0) return STATUS_OK;
    unsigned char *chunk = malloc(room);
    if (!chunk) return status_fail(STATUS_MEMORY, "no host memory for a comparison of %zu bytes", room);
    Status status = STATUS_OK;
    for (size_t begin = 0; begin < bytes && *at == bytes; begin += room) {
        const size_t length = bytes - begin < room ? bytes - begin : room;
        status = device->copy_out(chunk, (const unsigned char *)data + begin, length);
        if (status != STATUS_OK) break;
        const size_t first = bytes_first_difference(chunk, (const unsigned char *)host + begin, length);
        if (first < length) *at = begin + first;
    }
    free(chunk);
    return status;
}

Status buffer_seems_unchanged(const Buffer *buffer, bool *out) {
    return same_digest(buffer, buffer->array.data, buffer->bytes, buffer->payload_digest, out);
}

Status buffer_check_unchanged(const Buffer *buffer, const void *host) {
    bool same;
    size_t at;
    TRY(buffer_seems_unchanged(buffer, &same));
    if (same) return STATUS_OK;
    const Status status = device_first_difference(buffer->device, buffer->array.data, host, buffer->bytes, &at);
    if (status != STATUS_OK) return status_prefix(status, "%s: ", buffer->array.name);
    if (at == buffer->bytes) return STATUS_OK;
    return status_fail(STATUS_CHECK, "input %s was changed: element %zu is the first that differs", buffer->array.name,
                       at / dtype_size(buffer->array.dtype));
}

bool poison_element(const void *host, DType dtype, size_t index) {
    const size_t size = dtype_size(dtype);
    const unsigned char *bytes = (const unsigned char *)host + index * size;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != poison) return false;
    return true;
}
