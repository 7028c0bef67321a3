#include "emulator/values.h"

#include "emulator/fault.h"
#include "emulator/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- Who is to blame: an index of this table. */

typedef struct Origin {
    enum { NOBODY, ARRAY, SHARED, LOCAL, STORED } kind;
    uint32_t root; /* of what was stored: where it came from */
    const void *at;
    char kernel[128]; /* that stored it */
} Origin;

enum { ORIGINS = 1 << 14 };
static Origin origins[ORIGINS];

/* 0 if there is no room. */
static uint32_t origin_of(Origin wanted) {
    const uint64_t hash = ((uint64_t)(uintptr_t)wanted.at * 31 + wanted.root) * UINT64_C(0x9e3779b97f4a7c15) >> 50;
    for (uint32_t step = 0; step < 64; step++) {
        const uint32_t i = (uint32_t)(hash + step) % ORIGINS;
        if (i == 0) continue;
        if (origins[i].kind == NOBODY) {
            origins[i] = wanted;
            if (engine.launch && engine.launch->name)
                snprintf(origins[i].kernel, sizeof origins[i].kernel, "%s", engine.launch->name);
        }
        if (origins[i].kind == wanted.kind && origins[i].root == wanted.root && origins[i].at == wanted.at) return i;
    }
    return 0;
}

uint32_t values_stored(uint32_t origin, const void *pc) {
    const uint32_t root = origins[origin].kind == STORED ? origins[origin].root : origin;
    return origin_of((Origin){.kind = STORED, .root = root, .at = pc});
}

static uint32_t origin_of_memory(const void *address) {
    const unsigned char *begin;
    size_t bytes;
    if (!arena_range(address, &begin, &bytes)) return origin_of((Origin){.kind = SHARED});
    return origin_of((Origin){.kind = ARRAY, .at = begin});
}

enum { TEXT_BYTES = ADDRESS_TEXT_MAX + 1024 };

static const char *origin_text(uint32_t index, char text[TEXT_BYTES]) {
    char what[ADDRESS_TEXT_MAX], line[512] = "";
    const Origin *stored = origins[index].kind == STORED ? &origins[index] : NULL, *root = &origins[stored ? stored->root : index];
    snprintf(what, sizeof what, "a local variable");
    if (root->kind == SHARED) snprintf(what, sizeof what, "shared memory");
    if (root->kind == LOCAL && *(const char *)root->at != '@')
        snprintf(what, sizeof what, "the local variable %.*s", (int)strcspn(root->at, ".@"), (const char *)root->at);
    if (root->kind == ARRAY) address_describe(root->at, what);
    const char *array = root->kind == ARRAY ? strstr(what, " of ") : NULL;
    if (stored) symbol_line(stored->at, line, sizeof line);
    snprintf(text, TEXT_BYTES, "what %s held before anything was written there%s%s", array ? array + strlen(" of ") : what,
             stored ? ", by way of a value stored at " : "", line);
    return text;
}

/* ---- The shadow: of each gigabyte of addresses, as it is needed, in one piece, for clang touches that of a structure as a whole.
 */

enum { PART_BITS = 30, PARTS = 1 << 17, BESIDE = 1 << 16 /* bytes of a structure that begins in another part */ };
static const size_t PART_BYTES = (size_t)1 << PART_BITS,
                    WATCHED_MAX = (size_t)1 << 29; /* of an array that counts as unset at first */
static unsigned char *parts[PARTS];                /* bits, then origins */

/* Of __shared__ variables each resident block has its own, at one address: here at one that nothing else has. */
static struct {
    unsigned char *begin;
    size_t bytes;
} statics;
static uintptr_t static_key(int slot) {
    return (((uintptr_t)slot + 1) << 24) + (uintptr_t)statics.begin % 64;
}

static uintptr_t key_of(const void *address) {
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)statics.begin;
    if (offset >= statics.bytes || !engine.current) return (uintptr_t)address;
    return static_key(engine.current->block->slot) + offset;
}

static unsigned char *part_of(uintptr_t key, bool make) {
    unsigned char **part = &parts[(key >> PART_BITS) % PARTS];
    if (*part || !make) return *part;
    void *mapped =
        mmap(NULL, 2 * (PART_BYTES + BESIDE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fault_internal("no memory to watch values");
    return *part = mapped;
}

Unset values_at(const void *address, bool write) {
    static unsigned char nothing[2 * BESIDE], sink[2 * BESIDE];
    const uintptr_t key = key_of(address), offset = key % PART_BYTES;
    unsigned char *part = part_of(key, write && engine.current);
    if (part) return (Unset){part + offset, (uint32_t *)(void *)(part + PART_BYTES + BESIDE + offset / 4 * 4)};
    unsigned char *other = write ? sink : nothing;
    return (Unset){other, (uint32_t *)(void *)(other + BESIDE)};
}

static void fill(uintptr_t key, size_t bytes, unsigned char bits, uint32_t origin) {
    for (size_t done = 0, now; done < bytes; done += now) {
        const size_t offset = (key + done) % PART_BYTES, left = bytes - done;
        now = left < PART_BYTES - offset ? left : PART_BYTES - offset;
        unsigned char *part = part_of(key + done, bits != 0);
        if (!part) continue;
        memset(part + offset, bits, now);
        uint32_t *who = (uint32_t *)(void *)(part + PART_BYTES + BESIDE);
        for (size_t i = offset / 4; bits && i <= (offset + now - 1) / 4; i++) who[i] = origin;
    }
}

void values_unset(const void *address, size_t bytes) {
    if (values_enabled() && bytes <= WATCHED_MAX) fill(key_of(address), bytes, 0xff, origin_of_memory(address));
}

void values_unset_local(const void *address, size_t bytes, const char *name) {
    if (engine.current) fill(key_of(address), bytes, 0xff, origin_of((Origin){.kind = LOCAL, .at = name}));
}

void values_set(const void *address, size_t bytes) {
    if (values_enabled()) fill(key_of(address), bytes, 0, 0);
}

void values_copy(const void *to, const void *from, size_t bytes) {
    if (!values_enabled()) return;
    const unsigned char *target = to, *source = from;
    const bool backwards = target > source;
    for (size_t i = 0; i < bytes; i++) {
        const size_t at = backwards ? bytes - 1 - i : i;
        const Unset old = values_at(source + at, false);
        const unsigned char bits = *old.bits;
        const Unset now = values_at(target + at, bits != 0);
        *now.bits = bits;
        if (bits) *now.origins = *old.origins;
    }
}

void values_release(const void *address, size_t bytes) {
    values_set(address, bytes);
    unsigned char *part = values_enabled() ? part_of((uintptr_t)address, false) : NULL;
    const size_t offset = (uintptr_t)address % PART_BYTES;
    if (!part || bytes > PART_BYTES - offset) return;
    (void)madvise(part + offset, bytes, MADV_DONTNEED);
    (void)madvise(part + PART_BYTES + BESIDE + offset, bytes, MADV_DONTNEED);
}

void values_block_start(const Block *block) {
    if (!values_enabled()) return;
    const uint32_t shared = origin_of((Origin){.kind = SHARED});
    shared_static_range(&statics.begin, &statics.bytes);
    fill(static_key(block->slot), statics.bytes, 0xff, shared);
    fill((uintptr_t)block->shared, engine.launch->shared_bytes, 0xff, shared);
}

/* ---- What functions tell each other of arguments and results, in clang's layout. */

typedef struct Passed {
    uint64_t arguments[100], result[100], variadic[100], variadic_origins[100], variadic_bytes;
    uint32_t argument_origins[200], result_origin, variadic_origin;
} Passed;

void *values_passed(void) {
    static Passed of_host, of_threads[RESIDENT_MAX][BLOCK_THREADS_MAX];
    return engine.current ? &of_threads[engine.current->block->slot][engine.current->thread] : &of_host;
}

void values_thread_start(void) {
    if (values_enabled()) memset(values_passed(), 0, sizeof(Passed));
}

UnsetBits values_argument(int index) {
    const Passed *passed = values_passed();
    return (UnsetBits){passed->arguments[index], passed->argument_origins[2 * index]};
}

void values_result(UnsetBits unset) {
    Passed *passed = values_passed();
    passed->result[0] = unset.bits;
    passed->result_origin = unset.origin;
}

/* ---- Reports, each place once. */

enum { PLACES_MAX = 256, LINE_BYTES = 512 };

/* Code (line not NULL), of which another instruction of a known line is known too, or an array. */
static bool is_new(const void *at, char *line) {
    static const void *known[PLACES_MAX];
    static char lines[PLACES_MAX][LINE_BYTES];
    static int count;
    for (int i = 0; i < count; i++)
        if (known[i] == at) return false;
    if (count == PLACES_MAX) return false;
    bool fresh = true;
    known[count] = at;
    if (line) symbol_line(at, lines[count], LINE_BYTES);
    for (int i = 0; line && i < count; i++) fresh &= strcmp(lines[i], lines[count]) != 0;
    if (line) memcpy(line, lines[count], LINE_BYTES);
    count++;
    return fresh;
}

static const char KIND[] = "uninitialised value";

void values_used(uint32_t origin, const void *pc) {
    char line[LINE_BYTES], text[TEXT_BYTES];
    const Origin *stored = origins[origin].kind == STORED ? &origins[origin] : NULL;
    if (stored && !is_new(stored, NULL)) return; /* one cause has many effects */
    if (is_new(pc, line)) fault_more(KIND, line, "a branch or an address depends on %s", origin_text(origin, text));
}

void values_copied_to_host(const void *from, size_t bytes) {
    if (!values_enabled()) return;
    char line[LINE_BYTES], text[TEXT_BYTES], what[ADDRESS_TEXT_MAX];
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char *at = (const unsigned char *)from + i;
        const Unset unset = values_at(at, false);
        if (!*unset.bits) continue;
        const Origin *origin = &origins[*unset.origins];
        if (origin->kind == STORED) {
            const EmulatorLaunch by = {.name = origin->kernel};
            if (!is_new(origin->at, line)) continue;
            if (*by.name) engine.launch = &by;
            fault_more(KIND, line, "%s, which is copied to the host, depends on %s", address_describe(at, what),
                       origin_text(origin->root, text));
            engine.launch = NULL;
        } else if (emulator_settings.unset_copies && is_new(origin->at, NULL)) {
            if (emulator_settings.unset_copies == CLASS_ERROR)
                fault_more("copy of unset memory", NULL, "%s is copied to the host, and nobody wrote it",
                           address_describe(at, what));
            else
                fault_announce("note: copy of unset memory", NULL, "%s is copied to the host, and nobody wrote it",
                               address_describe(at, what));
        }
    }
    fault_end(0);
}
