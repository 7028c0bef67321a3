#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/race.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A shadow for a range of addresses; `words` and `written` run in parallel. */
typedef struct Shadow {
    unsigned char *begin;
    size_t bytes;
    ShadowWord *words;
    unsigned char *written;
} Shadow;

static Shadow device, variables, dynamic_shared, static_shared[RESIDENT_MAX];

/* Costs nothing until touched. */
static void *reserve(size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fault_internal("the system reserves no address range for the race detector");
    return mapped;
}

static Shadow make(unsigned char *begin, size_t bytes) {
    const size_t words = bytes / WORD_BYTES + 1;
    return (Shadow){begin, bytes, reserve(words * sizeof(ShadowWord)), reserve(words)};
}

static void discard(Shadow *shadow) {
    const size_t words = shadow->bytes / WORD_BYTES + 1;
    if (!shadow->words) return;
    munmap(shadow->words, words * sizeof(ShadowWord));
    munmap(shadow->written, words);
    *shadow = (Shadow){0};
}

static Shadow *holding(const void *address) {
    if (arena_contains(address)) {
        if (!device.words) device = make(arena_begin(), arena_reserved());
        return &device;
    }
    if (!engine.current) return NULL;
    if (dynamic_shared.words && (uintptr_t)address - (uintptr_t)dynamic_shared.begin < dynamic_shared.bytes) return &dynamic_shared;
    if (shared_is_static(address)) return &static_shared[engine.current->block->slot];
    return (uintptr_t)address - (uintptr_t)variables.begin < variables.bytes ? &variables : NULL;
}

bool shadow_find(const void *address, ShadowWord **word, unsigned char **written) {
    const Shadow *shadow = holding(address);
    if (!shadow) return false;
    const size_t index = ((uintptr_t)address - (uintptr_t)shadow->begin) / WORD_BYTES;
    *word = &shadow->words[index];
    *written = &shadow->written[index];
    return true;
}

void shadow_set_written(const void *address, size_t bytes, bool is_written) {
    const unsigned char *at = address;
    while (bytes > 0) {
        ShadowWord *word;
        unsigned char *written;
        if (!shadow_find(at, &word, &written)) return;
        const size_t offset = (uintptr_t)at % WORD_BYTES, length = bytes < WORD_BYTES - offset ? bytes : WORD_BYTES - offset;
        const unsigned mask = ((1u << length) - 1) << offset;
        *written = (unsigned char)(is_written ? *written | mask : *written & ~mask);
        at += length;
        bytes -= length;
    }
}

/* ---- What a launch begins with. */

typedef struct KeptWord {
    uint64_t *at, value;
} KeptWord;

static unsigned char *kept_written;
static size_t kept_bytes;
static KeptWord *kept_words;
static size_t kept_count, kept_room;

static void *or_fail(void *memory) {
    if (!memory) fault_internal("no memory to keep what a launch begins with; RUNGS_EMULATOR_SCHEDULES=1 needs none");
    return memory;
}

void shadow_keep(void) {
    kept_count = 0;
    kept_bytes = device.words ? arena_handed_out() / WORD_BYTES + 1 : 0;
    kept_written = or_fail(realloc(kept_written, kept_bytes + 1));
    if (kept_bytes) memcpy(kept_written, device.written, kept_bytes);
}

void shadow_before_write(const void *address, size_t bytes) {
    if ((uintptr_t)address - (uintptr_t)variables.begin >= variables.bytes || shared_is_static(address)) return;
    const unsigned char *at = (const unsigned char *)address - (uintptr_t)address % WORD_BYTES;
    for (; at < (const unsigned char *)address + bytes; at += WORD_BYTES) {
        if (kept_count == kept_room) {
            kept_room = kept_room ? 2 * kept_room : 64;
            kept_words = or_fail(realloc(kept_words, kept_room * sizeof *kept_words));
        }
        uint64_t *const word = (uint64_t *)(uintptr_t)at;
        if (kept_count == 0 || kept_words[kept_count - 1].at != word) kept_words[kept_count++] = (KeptWord){word, *word};
    }
}

void shadow_bring_back(void) {
    if (kept_bytes) memcpy(device.written, kept_written, kept_bytes);
    while (kept_count > 0) {
        const KeptWord *last = &kept_words[--kept_count];
        *last->at = last->value;
    }
}

static void clear(Shadow *shadow, size_t first_byte, size_t bytes) {
    if (bytes == 0) return;
    const size_t first = first_byte / WORD_BYTES, words = bytes / WORD_BYTES + 1;
    memset(&shadow->words[first], 0, words * sizeof(ShadowWord));
    memset(&shadow->written[first], 0, words);
}

void shadow_block_start(Block *block) {
    if (!dynamic_shared.words) dynamic_shared = make(shared_slots(), (size_t)RESIDENT_MAX * SHARED_SLOT_BYTES);
    clear(&dynamic_shared, (size_t)(block->shared - shared_slots()), engine.launch->shared_bytes);
    clear(&static_shared[block->slot], 0, static_shared[block->slot].bytes);
}

/* Words are aligned as addresses are. */
static Shadow make_at(unsigned char *begin, size_t bytes) {
    const size_t lead = (uintptr_t)begin % WORD_BYTES;
    return make(begin - lead, bytes + lead);
}

/* __device__ variables lie among the others of the kernel's file, and count as written. */
static void make_variables(void) {
    unsigned char *data, *bss, *begin, *end;
    size_t data_bytes, bss_bytes;
    const bool has_data = symbol_section(engine.launch->kernel, ".data", &data, &data_bytes);
    const bool has_bss = symbol_section(engine.launch->kernel, ".bss", &bss, &bss_bytes);
    if (!has_data && !has_bss) return;
    begin = has_data ? data : bss;
    end = has_bss ? bss + bss_bytes : data + data_bytes;
    variables = make_at(begin, (size_t)(end - begin));
    memset(variables.written, 0xff, variables.bytes / WORD_BYTES + 1);
}

void shadow_launch_start(void) {
    unsigned char *begin;
    size_t bytes;
    make_variables();
    shared_static_range(&begin, &bytes);
    if (bytes == 0) return;
    const int slots = engine.launch->cooperative ? RESIDENT_MAX : (int)emulator_settings.resident_blocks;
    for (int slot = 0; slot < slots; slot++) static_shared[slot] = make_at(begin, bytes);
}

/* What was written stays written; who did it no longer matters, as the end of a kernel orders everything. */
void shadow_launch_finish(void) {
    for (int slot = 0; slot < RESIDENT_MAX; slot++) discard(&static_shared[slot]);
    discard(&variables);
    if (device.words) madvise(device.words, arena_handed_out() / WORD_BYTES * sizeof(ShadowWord), MADV_DONTNEED);
}

/* A tree. Shared memory of different blocks may have one address; the resident slot tells them apart, and as a slot's next block
 * may find records of the one before, keys of shared memory carry the block's number. */
static void *syncvars;

static uintptr_t key_of(const void *address) {
    const uintptr_t key = (uintptr_t)address;
    const bool shared = shared_is_static(address) || shared_dynamic_owner(address);
    return shared ? key ^ ((uintptr_t)(engine.current->block->linear + 1) << 48) : key;
}

static int by_key(const void *a, const void *b) {
    const uintptr_t one = ((const SyncVar *)a)->key, other = ((const SyncVar *)b)->key;
    return (one > other) - (one < other);
}

SyncVar *syncvar_at(const void *address, bool make) {
    const SyncVar wanted = {.key = key_of(address)};
    SyncVar **found = tfind(&wanted, &syncvars, by_key);
    if (found || !make) return found ? *found : NULL;
    SyncVar *var = calloc(1, sizeof *var);
    if (!var) fault_internal("no memory for the race detector's atomics");
    *var = wanted;
    if (!tsearch(var, &syncvars, by_key)) fault_internal("no memory for the race detector's atomics");
    return var;
}

void syncvar_clear(SyncVar *var) {
    knowledge_drop(&var->carried);
    for (int slot = 0; slot < RESIDENT_MAX; slot++) knowledge_drop(&var->own[slot].carried);
}

static void forget(void *var) {
    syncvar_clear(var);
    free(var);
}

void syncvar_forget_all(void) {
    tdestroy(syncvars, forget);
    syncvars = NULL;
}
