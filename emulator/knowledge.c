#include "emulator/race.h"

#include "emulator/fault.h"

#include <stdlib.h>
#include <string.h>

typedef struct Clocks {
    unsigned references;
    uint32_t clock[]; /* one per thread of the block */
} Clocks;

typedef struct Entry {
    uint32_t block;
    Clocks *clocks;
} Entry;

struct Knowledge {
    unsigned references, count;
    Entry entries[]; /* by block */
};

static unsigned threads;

void knowledge_set_threads(unsigned count) {
    threads = count;
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) fault_internal("no memory for the race detector; a smaller case needs less");
    return memory;
}

static Knowledge *make(unsigned room) {
    Knowledge *made = allocate(sizeof *made + room * sizeof made->entries[0]);
    made->references = 1;
    made->count = 0;
    return made;
}

static Clocks *clocks_copy(const Clocks *from) {
    Clocks *made = allocate(sizeof *made + threads * sizeof made->clock[0]);
    made->references = 1;
    if (from)
        memcpy(made->clock, from->clock, threads * sizeof made->clock[0]);
    else
        memset(made->clock, 0, threads * sizeof made->clock[0]);
    return made;
}

static void clocks_drop(Clocks *clocks) {
    if (--clocks->references == 0) free(clocks);
}

Knowledge *knowledge_share(Knowledge *self) {
    if (self) self->references++;
    return self;
}

void knowledge_drop(Knowledge **self) {
    Knowledge *old = *self;
    *self = NULL;
    if (!old || --old->references > 0) return;
    for (unsigned i = 0; i < old->count; i++) clocks_drop(old->entries[i].clocks);
    free(old);
}

/* Index of the first entry whose block is not below `block`. */
static unsigned position(const Knowledge *self, uint32_t block) {
    unsigned low = 0, high = self ? self->count : 0;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (self->entries[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const uint32_t *knowledge_clocks(const Knowledge *self, uint32_t block) {
    const unsigned at = position(self, block);
    return self && at < self->count && self->entries[at].block == block ? self->entries[at].clocks->clock : NULL;
}

unsigned knowledge_blocks(const Knowledge *self) {
    return self ? self->count : 0;
}

bool knowledge_has(const Knowledge *self, uint32_t block, unsigned thread, uint32_t clock) {
    const uint32_t *clocks = knowledge_clocks(self, block);
    return clocks && clocks[thread] >= clock;
}

static void append(Knowledge *self, uint32_t block, Clocks *clocks) {
    clocks->references++;
    self->entries[self->count++] = (Entry){block, clocks};
}

static bool covers(const Clocks *a, const Clocks *b) {
    for (unsigned i = 0; i < threads; i++)
        if (a->clock[i] < b->clock[i]) return false;
    return true;
}

static void append_union(Knowledge *self, uint32_t block, Clocks *a, Clocks *b) {
    if (a == b || covers(a, b)) {
        append(self, block, a);
    } else if (covers(b, a)) {
        append(self, block, b);
    } else {
        Clocks *both = clocks_copy(a);
        for (unsigned i = 0; i < threads; i++)
            if (b->clock[i] > both->clock[i]) both->clock[i] = b->clock[i];
        append(self, block, both);
        both->references--;
    }
}

/* Joining it adds nothing: what is polled in vain. */
static bool contains(const Knowledge *self, const Knowledge *other) {
    unsigned i = 0;
    if (self->count < other->count) return false;
    for (unsigned j = 0; j < other->count; j++) {
        while (i < self->count && self->entries[i].block < other->entries[j].block) i++;
        if (i == self->count || self->entries[i].block != other->entries[j].block) return false;
        const Clocks *a = self->entries[i].clocks, *b = other->entries[j].clocks;
        if (a != b && !covers(a, b)) return false;
    }
    return true;
}

void knowledge_join(Knowledge **self, Knowledge *other) {
    Knowledge *own = *self;
    if (!other || other == own) return;
    if (!own) {
        *self = knowledge_share(other);
        return;
    }
    if (contains(own, other)) return;
    Knowledge *both = make(own->count + other->count);
    unsigned i = 0, j = 0;
    while (i < own->count || j < other->count) {
        const Entry *a = &own->entries[i], *b = &other->entries[j];
        if (j == other->count || (i < own->count && a->block < b->block))
            append(both, a->block, a->clocks), i++;
        else if (i == own->count || b->block < a->block)
            append(both, b->block, b->clocks), j++;
        else
            append_union(both, a->block, a->clocks, b->clocks), i++, j++;
    }
    knowledge_drop(self);
    *self = both;
}

void knowledge_learn(Knowledge **self, uint32_t block, unsigned first, unsigned count, const uint32_t *clocks) {
    const Knowledge *own = *self;
    const unsigned at = position(own, block), entries = own ? own->count : 0;
    const bool present = own && at < entries && own->entries[at].block == block;
    Clocks *learned = clocks_copy(present ? own->entries[at].clocks : NULL);
    for (unsigned i = 0; i < count; i++)
        if (clocks[i] > learned->clock[first + i]) learned->clock[first + i] = clocks[i];
    Knowledge *both = make(entries + 1);
    for (unsigned i = 0; i < at; i++) append(both, own->entries[i].block, own->entries[i].clocks);
    append(both, block, learned);
    learned->references--;
    for (unsigned i = at + present; i < entries; i++) append(both, own->entries[i].block, own->entries[i].clocks);
    knowledge_drop(self);
    *self = both;
}
