#include "emulator/values.h"

#include "emulator/fault.h"
#include "emulator/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defined by values_hooks.c, which is linked exactly if the kernels are instrumented. */
extern const bool values_hooks_linked __attribute__((weak));

bool values_enabled(void) {
    return &values_hooks_linked != NULL;
}

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
            if (engine.launch && engine.launch->name) snprintf(origins[i].kernel, sizeof origins[i].kernel, "%s", engine.launch->name);
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

/* ---- The shadow, in pages as they are needed. */

enum { PAGE_BITS = 12, PAGE_BYTES = 1 << PAGE_BITS, LEAF_BITS = 17, ROOT_BITS = 18 };
typedef struct Page {
    unsigned char bits[PAGE_BYTES];
    uint32_t origins[PAGE_BYTES / sizeof(uint32_t)];
} Page;
static Page **leaves[1 << ROOT_BITS];

/* Of __shared__ variables each resident block has its own, at one address: here at one that nothing else has. */
static struct {
    unsigned char *begin;
    size_t bytes;
} statics;
static uintptr_t static_key(int slot) {
    return ((uintptr_t)slot + 1) << 24;
}

static uintptr_t key_of(const void *address) {
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)statics.begin;
    if (offset >= statics.bytes || !engine.current) return (uintptr_t)address;
    return static_key(engine.current->block->slot) + (uintptr_t)statics.begin % PAGE_BYTES + offset;
}

static void *made(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) fault_internal("no memory to watch values; a smaller case needs less");
    return memory;
}

static Page *page_of(uintptr_t key, bool make) {
    Page ***leaf = &leaves[key >> (PAGE_BITS + LEAF_BITS) & ((1u << ROOT_BITS) - 1)];
    if (!*leaf && !make) return NULL;
    if (!*leaf) *leaf = made(sizeof(Page *) << LEAF_BITS);
    Page **page = &(*leaf)[key >> PAGE_BITS & ((1u << LEAF_BITS) - 1)];
    if (!*page && make) *page = made(sizeof **page);
    return *page;
}

Unset values_at(const void *address, size_t bytes, bool write) {
    static Page nothing, sink;
    const uintptr_t key = key_of(address), offset = key % PAGE_BYTES;
    Page *page = bytes <= PAGE_BYTES - offset ? page_of(key, write && engine.current) : NULL;
    if (page) return (Unset){page->bits + offset, page->origins + offset / sizeof(uint32_t)};
    return write ? (Unset){sink.bits, sink.origins} : (Unset){nothing.bits, nothing.origins};
}

static void fill(uintptr_t key, size_t bytes, unsigned char bits, uint32_t origin) {
    for (size_t done = 0, part; done < bytes; done += part) {
        const size_t offset = (key + done) % PAGE_BYTES, left = bytes - done;
        part = left < PAGE_BYTES - offset ? left : PAGE_BYTES - offset;
        Page *page = page_of(key + done, bits != 0);
        if (page) memset(page->bits + offset, bits, part);
        for (size_t i = offset / 4; bits && i <= (offset + part - 1) / 4; i++) page->origins[i] = origin;
    }
}

void values_unset(const void *address, size_t bytes) {
    if (values_enabled()) fill(key_of(address), bytes, 0xff, origin_of_memory(address));
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
        const Unset old = values_at(source + at, 1, false);
        const unsigned char bits = *old.bits;
        const Unset now = values_at(target + at, 1, bits != 0);
        *now.bits = bits;
        if (bits) *now.origins = *old.origins;
    }
}

void values_release(const void *address, size_t bytes) {
    for (size_t done = 0; values_enabled() && done < bytes; done += PAGE_BYTES) {
        const uintptr_t key = (uintptr_t)address + done;
        if (!page_of(key, false)) continue;
        Page **page = &leaves[key >> (PAGE_BITS + LEAF_BITS)][key >> PAGE_BITS & ((1u << LEAF_BITS) - 1)];
        free(*page);
        *page = NULL;
    }
}

void values_block_start(const Block *block) {
    if (!values_enabled()) return;
    const uint32_t shared = origin_of((Origin){.kind = SHARED});
    shared_static_range(&statics.begin, &statics.bytes);
    fill(static_key(block->slot) + (uintptr_t)statics.begin % PAGE_BYTES, statics.bytes, 0xff, shared);
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
    return values_enabled() ? (UnsetBits){passed->arguments[index], passed->argument_origins[2 * index]} : (UnsetBits){0};
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
    if (is_new(pc, line)) fault_more(KIND, line, "a branch or an address depends on %s", origin_text(origin, text));
}

void values_copied_to_host(const void *from, size_t bytes) {
    if (!values_enabled()) return;
    char line[LINE_BYTES], text[TEXT_BYTES], what[ADDRESS_TEXT_MAX];
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char *at = (const unsigned char *)from + i;
        const Unset unset = values_at(at, 1, false);
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
                fault_more("copy of unset memory", NULL, "%s is copied to the host, and nobody wrote it", address_describe(at, what));
            else
                fault_announce("note: copy of unset memory", NULL, "%s is copied to the host, and nobody wrote it",
                               address_describe(at, what));
        }
    }
    fault_end(0);
}
