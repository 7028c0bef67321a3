/* Dynamic memory: a slot's region, filled anew for each block, forbidden to instrumented code outside the bytes asked for.
 *
 * Static variables: the header puts those of one source file into one ELF section of their own, which keeps AddressSanitizer's red
 * zones between them. The section exists once; a block that is not running has its contents saved aside.
 *
 * Fresh memory is filled with a pattern that changes from block to block (NaN, huge, huge negative), so that a read before the
 * first write spoils the result whatever the kernel computes.
 */
#include "emulator/shared.h"

#include "emulator/bytes.h"
#include "emulator/fault.h"
#include "emulator/sanitizer.h"
#include "emulator/symbol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REGION_MARGIN = 4096 };
static unsigned char *slots;
static unsigned char *static_begin;
static size_t static_bytes;

static unsigned char fresh_byte(const Block *block) {
    static const unsigned char patterns[] = {0xff, 0x7e, 0xfe};
    return patterns[(block->linear + emulator_settings.seed) % sizeof patterns];
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
    bytes_fill(block->statics, fresh_byte(block), static_bytes);
}

void shared_block_finish(Block *block) {
    sanitizer_forbid(block->shared, engine.launch->shared_bytes);
}

void shared_change_block(Block *from, Block *to) {
    if (static_bytes == 0) return;
    if (from && from->resident) bytes_copy(from->statics, static_begin, static_bytes);
    if (to) bytes_copy(static_begin, to->statics, static_bytes);
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
