/* Each allocation has pages of its own and ends where its last page ends, up to CUDA's 256-byte alignment; the pages between are
 * never accessible. While host code runs no page is: a variant that reads device memory from the host is stopped at once. */
#include "emulator/memory.h"
#include "emulator/fault.h"
#include "emulator/race.h"
#include "emulator/values.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t ARENA_BYTES = (size_t)64 << 30, PAGE = 4096, ALIGNMENT = 256;

enum { ARRAY_NAME_BYTES = 40 };

typedef struct Allocation {
    char name[ARRAY_NAME_BYTES]; /* of the variable that has its address; may be empty */
    unsigned char *pages, *data;
    size_t page_bytes, bytes;
    size_t guard_below, guard_above; /* bytes at either end that kernels may not touch */
    bool live, shared;               /* shared: with host code */
} Allocation;

static unsigned char *arena;
static size_t handed_out, in_use;
static Allocation *allocations; /* by address, for ever: released ones stay to be named in reports */
static size_t count, room;
static int opened;
static const char *next_name;

void emulator_name_next(const char *name) {
    next_name = name;
}

static size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static size_t capacity(void) {
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4 * 3;
}

static Status reserve(void) {
    if (arena) return STATUS_OK;
    void *mapped = mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return status_fail(STATUS_MEMORY, "the system reserves no address range for the emulator's device memory");
    arena = mapped;
    handed_out = PAGE; /* nothing lies directly below the first allocation */
    return STATUS_OK;
}

static Status record(Allocation allocation) {
    if (count == room) {
        const size_t more = room ? 2 * room : 64;
        Allocation *grown = realloc(allocations, more * sizeof *grown);
        if (!grown) return status_fail(STATUS_MEMORY, "no memory to record a device allocation");
        allocations = grown;
        room = more;
    }
    allocations[count++] = allocation;
    return STATUS_OK;
}

Status arena_allocate(size_t bytes, void **out) {
    *out = NULL;
    TRY(reserve());
    const size_t free_bytes = capacity() > in_use ? capacity() - in_use : 0;
    if (bytes > free_bytes || round_up(bytes + ALIGNMENT, PAGE) + PAGE > ARENA_BYTES - handed_out)
        return status_fail(STATUS_MEMORY, "no emulated device memory for %zu bytes; %zu bytes are free", bytes, free_bytes);
    const size_t block = round_up(bytes ? bytes : 1, ALIGNMENT), page_bytes = round_up(block, PAGE);
    unsigned char *pages = arena + handed_out, *data = pages + page_bytes - block;
    if (mprotect(pages, page_bytes, opened ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        return status_fail(STATUS_MEMORY, "the system gave no memory for %zu bytes of emulated device memory", bytes);
    TRY(record((Allocation){.pages = pages, .data = data, .page_bytes = page_bytes, .bytes = bytes, .live = true}));
    if (next_name) arena_name(data, next_name);
    next_name = NULL;
    sanitizer_forbid(pages, page_bytes);
    sanitizer_allow(data, bytes);
    handed_out += page_bytes + PAGE;
    in_use += bytes;
    *out = data;
    return STATUS_OK;
}

/* The last allocation whose pages begin at or below the address. */
static Allocation *find(const void *address) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if ((uintptr_t)allocations[middle].pages <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &allocations[low - 1] : NULL;
}

Status arena_release(void *pointer) {
    if (!pointer) return STATUS_OK;
    Allocation *allocation = find(pointer);
    if (!allocation || allocation->data != pointer)
        return status_fail(STATUS_INVALID, "%p was not returned by an allocation", pointer);
    if (!allocation->live) return status_fail(STATUS_INVALID, "%p was released before", pointer);
    allocation->live = false;
    in_use -= allocation->bytes;
    (void)mprotect(allocation->pages, allocation->page_bytes, PROT_NONE);
    (void)madvise(allocation->pages, allocation->page_bytes, MADV_DONTNEED);
    race_host_released(allocation->pages, allocation->page_bytes);
    values_release(allocation->pages, allocation->page_bytes);
    return STATUS_OK;
}

void arena_name(const void *pointer, const char *name) {
    Allocation *allocation = find(pointer);
    if (allocation) snprintf(allocation->name, sizeof allocation->name, "%s", name);
}

size_t arena_in_use(void) {
    return in_use;
}

void arena_share(void *pointer) {
    Allocation *allocation = find(pointer);
    allocation->shared = true;
    (void)mprotect(allocation->pages, allocation->page_bytes, PROT_READ | PROT_WRITE);
}

static void protect_all(int protection) {
    for (size_t i = 0; i < count; i++)
        if (allocations[i].live && !allocations[i].shared)
            (void)mprotect(allocations[i].pages, allocations[i].page_bytes, protection);
}

void arena_open(void) {
    if (opened++ == 0) protect_all(PROT_READ | PROT_WRITE);
}

void arena_close(void) {
    if (--opened == 0) protect_all(PROT_NONE);
}

bool arena_contains(const void *address) {
    return arena && (uintptr_t)address - (uintptr_t)arena < ARENA_BYTES;
}

unsigned char *arena_begin(void) {
    return arena;
}

size_t arena_reserved(void) {
    return ARENA_BYTES;
}

size_t arena_handed_out(void) {
    return handed_out;
}

bool arena_range(const void *address, const unsigned char **begin, size_t *size) {
    const Allocation *a = arena_contains(address) ? find(address) : NULL;
    if (!a || !a->live) return false;
    *begin = a->data + a->guard_below;
    *size = a->bytes - a->guard_below - a->guard_above;
    return true;
}

bool arena_valid(const void *address, size_t bytes) {
    const unsigned char *begin;
    size_t size;
    return arena_range(address, &begin, &size) && bytes_within(address, bytes, begin, size);
}

void arena_forbid(void *from, size_t bytes) {
    Allocation *allocation = find(from);
    if (!allocation || !allocation->live) return;
    unsigned char *begin = from;
    if (begin == allocation->data)
        allocation->guard_below = bytes;
    else if (begin + bytes == allocation->data + allocation->bytes)
        allocation->guard_above = bytes;
    else
        return;
    sanitizer_forbid(from, bytes);
}

bool arena_describe(const void *address, char *text, size_t size) {
    if (!arena_contains(address)) return false;
    const Allocation *a = find(address);
    if (!a) return snprintf(text, size, "an address below all device memory"), true;
    char what[64];
    const size_t bytes = a->bytes - a->guard_below - a->guard_above;
    if (a->name[0])
        snprintf(what, sizeof what, "device array %s", a->name);
    else
        snprintf(what, sizeof what, "device array %zu", (size_t)(a - allocations) + 1);
    if (a->live)
        describe_within(address, a->data + a->guard_below, bytes, what, text, size);
    else
        snprintf(text, size, "%s (%zu bytes), which has been released", what, bytes);
    return true;
}

void memory_unset(const void *address, size_t bytes) {
    race_host_allocated(address, bytes);
    values_unset(address, bytes);
}

void memory_set(const void *address, size_t bytes) {
    race_host_wrote(address, bytes);
    values_set(address, bytes);
}

/* ---- The heap: one device allocation as large as the limit, handed out from its beginning, each piece with forbidden bytes behind
 * it. */

enum { HEAP_ALIGNMENT = 16, BEHIND = 16 /* forbidden, and room that the device's allocator needs for itself too */ };

/* Stands before each piece: its size, and whether it lives. Kernels may not touch it. */
typedef struct Piece {
    size_t bytes, live;
} Piece;
static const size_t LIVE = 0x6c697665, FREED = 0x66726565;

static size_t heap_bytes = (size_t)8 << 20; /* CUDA's default */
static unsigned char *heap;
static size_t heap_used, live_bytes;

size_t heap_limit(void) {
    return heap_bytes;
}

bool heap_set_limit(size_t bytes) {
    if (heap) return false;
    heap_bytes = bytes;
    return true;
}

size_t heap_in_use(void) {
    return live_bytes;
}

void heap_launch_start(void) {
    if (live_bytes == 0) heap_used = 0;
}

static bool take_heap(void) {
    void *memory = NULL;
    if (heap) return true;
    if (arena_allocate(heap_bytes, &memory) != STATUS_OK) return false;
    heap = memory;
    sanitizer_forbid(heap, heap_bytes);
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
    if (!take_heap() || bytes > heap_bytes) return NULL;
    const size_t taken = sizeof(Piece) + (bytes + HEAP_ALIGNMENT - 1) / HEAP_ALIGNMENT * HEAP_ALIGNMENT + BEHIND;
    if (taken > heap_bytes - heap_used) return NULL;
    unsigned char *begin = heap + heap_used, *data = begin + sizeof(Piece);
    note((Piece *)(void *)begin, bytes, LIVE);
    heap_used += taken;
    live_bytes += bytes;
    sanitizer_allow(data, bytes);
    memory_unset(data, bytes);
    return data;
}

static void device_free(void *pointer, const void *pc) {
    unsigned char *data = pointer;
    const EmulatorSite nowhere = {0};
    if (!data) return;
    if (!heap || data < heap + sizeof(Piece) || data >= heap + heap_used || (size_t)(data - heap) % HEAP_ALIGNMENT)
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

static struct {
    unsigned char *bytes;
    size_t count, heap_used, live_bytes;
} kept;

/* Between the arrays and their copy, one after the other. */
static void copy_kept(bool back) {
    unsigned char *at = kept.bytes;
    for (size_t i = 0; i < kept.count; i++) {
        const Allocation *a = &allocations[i];
        if (!a->live) continue;
        bytes_copy(back ? a->data : at, back ? at : a->data, a->bytes);
        at += a->bytes;
    }
}

void arena_keep(void) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += allocations[i].live ? allocations[i].bytes : 0;
    kept.bytes = malloc(bytes + 1);
    if (!kept.bytes) fault_internal("no memory to keep what a launch begins with; RUNGS_EMULATOR_SCHEDULES=1 needs none");
    kept.count = count;
    kept.heap_used = heap_used;
    kept.live_bytes = live_bytes;
    copy_kept(false);
}

void arena_bring_back(void) {
    copy_kept(true);
    heap_used = kept.heap_used;
    live_bytes = kept.live_bytes;
}

void arena_let_go(void) {
    free(kept.bytes);
    kept.bytes = NULL;
}

/* ---- Shared memory. Dynamic: a slot's region, filled anew for each block, forbidden to instrumented code outside the bytes asked
 * for.
 *
 * Static variables: the header puts those of one source file into one ELF section of their own, which keeps AddressSanitizer's red
 * zones between them. The section exists once; a block that is not running has its contents saved aside.
 *
 * Fresh memory is filled with a pattern that changes from block to block (NaN, huge, huge negative), so that a read before the
 * first write spoils the result whatever the kernel computes.
 */

enum { REGION_MARGIN = 4096 };
static unsigned char *slots;
static unsigned char *static_begin;
static size_t static_bytes;
/* Of these, from where to where the launch's blocks have touched any: only that much is filled and copied. All, where nobody says
 * what is touched. */
static size_t used_from, used_to;

static unsigned char fresh_byte(const Block *block) {
    static const unsigned char patterns[] = {0xff, 0x7e, 0xfe};
    return patterns[(block->linear + (uint64_t)emulator_settings.seed) % sizeof patterns];
}

unsigned char *shared_slots(void) {
    if (slots) return slots;
    void *mapped = mmap(NULL, (size_t)RESIDENT_MAX * SHARED_SLOT_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fault_internal("no memory for shared memory");
    slots = mapped;
    sanitizer_forbid(slots, (size_t)RESIDENT_MAX * SHARED_SLOT_BYTES);
    return slots;
}

void shared_launch_start(const EmulatorLaunch *launch) {
    char section[256];
    snprintf(section, sizeof section, ".rungs_shared.%s", launch->unit);
    static_begin = NULL;
    static_bytes = 0;
    (void)symbol_section(launch->kernel, section, &static_begin, &static_bytes);
    used_from = race_enabled() ? static_bytes : 0;
    used_to = race_enabled() ? 0 : static_bytes;
}

void shared_launch_finish(void) {
    for (int slot = 0; slot < RESIDENT_MAX; slot++) {
        free(engine.blocks[slot].statics);
        engine.blocks[slot].statics = NULL;
    }
}

void shared_block_start(Block *block) {
    /* At the slot's end, so that little lies between the last byte and the next slot; aligned as CUDA aligns it. */
    block->shared = shared_slots() + (size_t)block->slot * SHARED_SLOT_BYTES + REGION_MARGIN;
    bytes_fill(block->shared, fresh_byte(block), engine.launch->shared_bytes);
    sanitizer_allow(block->shared, engine.launch->shared_bytes);
    if (static_bytes == 0) return;
    if (!block->statics) block->statics = malloc(static_bytes);
    if (!block->statics) fault_internal("no memory for a block's __shared__ variables");
    if (used_from < used_to) bytes_fill(block->statics + used_from, fresh_byte(block), used_to - used_from);
}

/* More of them is in use: fresh for every block. */
static void use(size_t from, size_t to) {
    if (from >= to) return;
    for (int slot = 0; slot < RESIDENT_MAX; slot++) {
        const Block *block = &engine.blocks[slot];
        if (!block->resident || !block->statics) continue;
        bytes_fill(block == engine.current_block ? static_begin + from : block->statics + from, fresh_byte(block), to - from);
    }
}

void shared_touch(const void *address, size_t bytes) {
    enum { LINE = 64 };
    const unsigned char *at = address;
    const size_t from = at > static_begin ? (size_t)(at - static_begin) / LINE * LINE : 0,
                 end = ((size_t)(at + bytes - static_begin) + LINE - 1) / LINE * LINE, to = end < static_bytes ? end : static_bytes;
    if (used_from <= from && to <= used_to) return;
    if (used_from > used_to) used_from = used_to = from;
    use(from, used_from);
    use(used_to, to);
    if (from < used_from) used_from = from;
    if (to > used_to) used_to = to;
}

void shared_block_finish(Block *block) {
    sanitizer_forbid(block->shared, engine.launch->shared_bytes);
}

void shared_change_block(Block *from, Block *to) {
    if (used_from >= used_to) return;
    const size_t bytes = used_to - used_from;
    if (from && from->resident) bytes_copy(from->statics + used_from, static_begin + used_from, bytes);
    if (to) bytes_copy(static_begin + used_from, to->statics + used_from, bytes);
}

bool shared_is_static(const void *address) {
    return (uintptr_t)address - (uintptr_t)static_begin < static_bytes;
}

void shared_static_range(unsigned char **begin, size_t *bytes) {
    *begin = static_begin;
    *bytes = static_bytes;
}

Block *shared_dynamic_owner(const void *address) {
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)slots;
    if (!slots || offset >= (uintptr_t)RESIDENT_MAX * SHARED_SLOT_BYTES) return NULL;
    return &engine.blocks[offset / SHARED_SLOT_BYTES];
}

void *emulator_dynamic_shared(void) {
    return engine.current->block->shared;
}

/* new and delete of programs (cmake/program.py): of host code C++'s own, so that AddressSanitizer sees which goes with which. */
#define NEW(symbol, host)                                                                                                          \
    void *host(size_t bytes) __asm__(#symbol);                                                                                     \
    void *emulator##symbol(size_t bytes) {                                                                                         \
        return engine.launch ? device_malloc(bytes) : host(bytes);                                                                 \
    }
#define DELETE(symbol, host)                                                                                                       \
    void host(void *pointer) __asm__(#symbol);                                                                                     \
    void emulator##symbol(void *pointer) {                                                                                         \
        if (engine.launch)                                                                                                         \
            device_free(pointer, __builtin_return_address(0));                                                                     \
        else                                                                                                                       \
            host(pointer);                                                                                                         \
    }
NEW(_Znwm, host_new)
NEW(_Znam, host_new_array)
DELETE(_ZdlPv, host_delete)
DELETE(_ZdaPv, host_delete_array)
/* With a size, which they do not need. */
void emulator_ZdlPvm(void *pointer) __attribute__((alias("emulator_ZdlPv")));
void emulator_ZdaPvm(void *pointer) __attribute__((alias("emulator_ZdaPv")));
