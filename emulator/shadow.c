#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/race.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

Shadows shadows;

/* Costs nothing until touched. */
static void *reserve(size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fault_internal("the system reserves no address range for the race detector");
    (void)madvise(mapped, bytes, MADV_DONTFORK); /* who looks up a line in the source needs none of it */
    return mapped;
}

static Shadow make(unsigned char *begin, size_t bytes) {
    const size_t words = bytes / WORD_BYTES + 1;
    return (Shadow){begin, bytes, reserve(words * sizeof(ShadowHead)), reserve(words * sizeof(ShadowRest)), reserve(words)};
}

static void discard(Shadow *shadow) {
    const size_t words = shadow->bytes / WORD_BYTES + 1;
    if (!shadow->heads) return;
    munmap(shadow->heads, words * sizeof(ShadowHead));
    munmap(shadow->rests, words * sizeof(ShadowRest));
    munmap(shadow->written, words);
    *shadow = (Shadow){0};
}

static void make_device(void) {
    if (shadows.device.heads || !arena_begin()) return;
    shadows.device = make(arena_begin(), arena_reserved());
    (void)madvise(shadows.device.heads, arena_reserved() / WORD_BYTES * sizeof(ShadowHead), MADV_HUGEPAGE);
    (void)madvise(shadows.device.rests, arena_reserved() / WORD_BYTES * sizeof(ShadowRest), MADV_HUGEPAGE);
}

void shadow_set_written(const void *address, size_t bytes, bool is_written) {
    const unsigned char *at = address;
    if (!arena_contains(address)) return;
    make_device();
    while (bytes > 0) {
        unsigned char *written = &shadows.device.written[shadow_index(&shadows.device, at)];
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
    kept_bytes = shadows.device.heads ? arena_handed_out() / WORD_BYTES + 1 : 0;
    kept_written = or_fail(realloc(kept_written, kept_bytes + 1));
    if (kept_bytes) memcpy(kept_written, shadows.device.written, kept_bytes);
}

void shadow_before_write(const void *address, size_t bytes) {
    if ((uintptr_t)address - (uintptr_t)shadows.variables.begin >= shadows.variables.bytes || shared_is_static(address)) return;
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
    if (kept_bytes) memcpy(shadows.device.written, kept_written, kept_bytes);
    while (kept_count > 0) {
        const KeptWord *last = &kept_words[--kept_count];
        *last->at = last->value;
    }
}

static void clear(Shadow *shadow, size_t first_byte, size_t bytes) {
    if (bytes > 0) memset(&shadow->written[first_byte / WORD_BYTES], 0, bytes / WORD_BYTES + 1);
}

void shadow_block_start(Block *block) {
    if (!shadows.dynamic_shared.heads) shadows.dynamic_shared = make(shared_slots(), (size_t)RESIDENT_MAX * SHARED_SLOT_BYTES);
    clear(&shadows.dynamic_shared, (size_t)(block->shared - shared_slots()), engine.launch->shared_bytes);
    clear(&shadows.static_shared[block->slot], 0, shadows.static_shared[block->slot].bytes);
}

/* Makes the shadow of another range, if it is another. Words are aligned as addresses are. */
static void move(Shadow *shadow, unsigned char *begin, size_t bytes, int fill) {
    const size_t lead = (uintptr_t)begin % WORD_BYTES;
    if (shadow->begin == begin - lead && shadow->bytes == bytes + lead) return;
    discard(shadow);
    if (bytes == 0) return;
    *shadow = make(begin - lead, bytes + lead);
    memset(shadow->written, fill, shadow->bytes / WORD_BYTES + 1);
}

/* __device__ variables lie among the others of the kernel's file, and count as written. */
static void find_variables(void) {
    unsigned char *data = NULL, *bss = NULL;
    size_t data_bytes = 0, bss_bytes = 0;
    const bool has_data = symbol_section(engine.launch->kernel, ".data", &data, &data_bytes);
    const bool has_bss = symbol_section(engine.launch->kernel, ".bss", &bss, &bss_bytes);
    unsigned char *const begin = has_data ? data : bss, *const end = has_bss ? bss + bss_bytes : data + data_bytes;
    move(&shadows.variables, begin, has_data || has_bss ? (size_t)(end - begin) : 0, 0xff);
}

void shadow_launch_start(void) {
    unsigned char *begin;
    size_t bytes;
    make_device();
    find_variables();
    shared_static_range(&begin, &bytes);
    const int slots = engine.launch->cooperative ? RESIDENT_MAX : (int)emulator_settings.resident_blocks;
    for (int slot = 0; slot < slots; slot++) move(&shadows.static_shared[slot], begin, bytes, 0);
}

static void drop_words(const Shadow *shadow, size_t first, size_t words) {
    if (!shadow->heads) return;
    (void)madvise(&shadow->heads[first], words * sizeof(ShadowHead), MADV_DONTNEED);
    (void)madvise(&shadow->rests[first], words * sizeof(ShadowRest), MADV_DONTNEED);
}

void shadow_forget_all(void) {
    for (int slot = 0; slot < RESIDENT_MAX; slot++)
        drop_words(&shadows.static_shared[slot], 0, shadows.static_shared[slot].bytes / WORD_BYTES + 1);
    drop_words(&shadows.variables, 0, shadows.variables.bytes / WORD_BYTES + 1);
    drop_words(&shadows.dynamic_shared, 0, shadows.dynamic_shared.bytes / WORD_BYTES + 1);
    drop_words(&shadows.device, 0, arena_handed_out() / WORD_BYTES);
}

void shadow_release(const void *address, size_t bytes) {
    drop_words(&shadows.device, shadow_index(&shadows.device, address), bytes / WORD_BYTES);
}

/* Shared memory of different blocks may have one address; the resident slot tells them apart, and as a slot's next block
 * may find records of the one before, keys of shared memory carry the block's number. */
enum { SYNCVAR_BUCKETS = 4096 };
static SyncVar *syncvars[SYNCVAR_BUCKETS];

static uintptr_t key_of(const void *address) {
    const uintptr_t key = (uintptr_t)address;
    const bool shared = shared_is_static(address) || shared_dynamic_owner(address);
    return shared ? key ^ ((uintptr_t)(engine.current->block->linear + 1) << 48) : key;
}

SyncVar *syncvar_at(const void *address, bool make) {
    const uintptr_t key = key_of(address);
    SyncVar **bucket = &syncvars[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
    for (SyncVar *var = *bucket; var; var = var->next)
        if (var->key == key) return var;
    if (!make) return NULL;
    SyncVar *var = calloc(1, sizeof *var);
    if (!var) fault_internal("no memory for the race detector's atomics");
    var->key = key;
    var->next = *bucket;
    return *bucket = var;
}

void syncvar_clear(SyncVar *var) {
    knowledge_drop(&var->carried);
    for (int slot = 0; slot < RESIDENT_MAX; slot++) knowledge_drop(&var->own[slot].carried);
}

void syncvar_forget_all(void) {
    for (int i = 0; i < SYNCVAR_BUCKETS; i++)
        while (syncvars[i]) {
            SyncVar *var = syncvars[i];
            syncvars[i] = var->next;
            syncvar_clear(var);
            free(var);
        }
}
