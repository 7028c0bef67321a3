/* One device allocation as large as the limit, handed out from its beginning, each piece with forbidden bytes behind it. */
#include "emulator/heap.h"

#include "emulator/arena.h"
#include "emulator/fault.h"
#include "emulator/race.h"
#include "emulator/sanitizer.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, BEHIND = 16 /* forbidden, and room that the device's allocator needs for itself too */ };

/* Stands before each piece: its size, and whether it lives. Kernels may not touch it. */
typedef struct Piece {
    size_t bytes, live;
} Piece;
static const size_t LIVE = 0x6c697665, FREED = 0x66726565;

static size_t limit = (size_t)8 << 20; /* CUDA's default */
static unsigned char *heap;
static size_t handed_out, live_bytes;

size_t heap_limit(void) {
    return limit;
}

bool heap_set_limit(size_t bytes) {
    if (heap) return false;
    limit = bytes;
    return true;
}

size_t heap_in_use(void) {
    return live_bytes;
}

void heap_launch_start(void) {
    if (live_bytes == 0) handed_out = 0;
}

static bool take_heap(void) {
    void *memory = NULL;
    if (heap) return true;
    if (arena_allocate(limit, &memory) != STATUS_OK) return false;
    heap = memory;
    sanitizer_forbid(heap, limit);
    return true;
}

/* Their bookkeeping is not the kernel's doing. */
__attribute__((no_sanitize("address"))) static void note(Piece *piece, size_t bytes, size_t live) {
    piece->bytes = bytes;
    piece->live = live;
}
__attribute__((no_sanitize("address"))) static Piece look(const Piece *piece) {
    return *piece;
}

static void *device_malloc(size_t bytes) {
    if (!take_heap() || bytes > limit) return NULL;
    const size_t room = sizeof(Piece) + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + BEHIND;
    if (room > limit - handed_out) return NULL;
    unsigned char *begin = heap + handed_out, *data = begin + sizeof(Piece);
    note((Piece *)(void *)begin, bytes, LIVE);
    handed_out += room;
    live_bytes += bytes;
    sanitizer_allow(data, bytes);
    race_host_allocated(data, bytes);
    return data;
}

static void device_free(void *pointer, const void *pc) {
    unsigned char *data = pointer;
    const EmulatorSite nowhere = {0};
    if (!data) return;
    if (!heap || data < heap + sizeof(Piece) || data >= heap + handed_out || (size_t)(data - heap) % ALIGNMENT)
        fault_at("free()", nowhere, pc, "%p was not returned by malloc()", pointer);
    Piece *piece = (Piece *)(void *)(data - sizeof(Piece));
    const Piece was = look(piece);
    if (was.live != LIVE)
        fault_at("free()", nowhere, pc, was.live == FREED ? "%p was freed before" : "%p was not returned by malloc()", pointer);
    note(piece, was.bytes, FREED);
    live_bytes -= was.bytes;
    sanitizer_forbid(data, was.bytes);
}

void *emulator_malloc(size_t bytes) {
    return engine.launch ? device_malloc(bytes) : malloc(bytes);
}

void emulator_free(void *pointer) {
    if (engine.launch)
        device_free(pointer, __builtin_return_address(0));
    else
        free(pointer);
}
