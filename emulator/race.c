/* The rules of race.h, on the clocks of knowledge.c and the memory of shadow.c. */
#include "emulator/race.h"

#include "emulator/fault.h"
#include "emulator/memory.h"

#include <string.h>

/* Defined by hooks.c, which is linked exactly if the kernels are instrumented. */
extern const bool race_hooks_linked __attribute__((weak));

bool race_enabled(void) {
    return &race_hooks_linked != NULL;
}

typedef struct RaceThread {
    uint32_t clock;
    Knowledge *known;       /* what happened before whatever this thread does now */
    const uint32_t *own;    /* in it, its own block's clocks */
    Knowledge *released[2]; /* by scope: what its last fence published: its later atomic writes carry it */
    Knowledge *pending[2];  /* by scope: what its atomic reads brought; its next fence makes it known */
} RaceThread;

static RaceThread race_threads[RESIDENT_MAX][BLOCK_THREADS_MAX];

/* Clocks go on from launch to launch: an access before `since` is of an earlier one, and no longer matters, as the end of a kernel
 * orders everything. */
static uint32_t since = 1, latest = 1;

static RaceThread *state_of(const Fiber *fiber) {
    return &race_threads[fiber->block->slot][fiber->thread];
}

/* `known` has changed. */
static void find_own(RaceThread *thread, const Block *block) {
    thread->own = knowledge_clocks(thread->known, (uint32_t)block->linear);
}

static void thread_clear(RaceThread *thread) {
    knowledge_drop(&thread->known);
    for (int scope = 0; scope < 2; scope++) {
        knowledge_drop(&thread->released[scope]);
        knowledge_drop(&thread->pending[scope]);
    }
}

/* The array that was accessed last. */
static struct {
    const unsigned char *begin;
    size_t bytes;
} recent;

void race_launch_start(void) {
    if (!race_enabled()) return;
    recent.bytes = 0;
    knowledge_set_threads(engine.block_threads);
    shadow_launch_start();
}

void race_launch_finish(void) {
    if (!race_enabled()) return;
    findings_launch_finish();
    syncvar_forget_all();
    since = latest + 1;
    if (since < UINT32_MAX / 2) return;
    shadow_forget_all();
    since = latest = 1;
}

void race_keep(void) {
    if (race_enabled()) shadow_keep();
}

void race_bring_back(void) {
    if (race_enabled()) shadow_bring_back();
}

void race_block_start(Block *block) {
    if (!race_enabled()) return;
    for (unsigned i = 0; i < block->threads; i++) race_threads[block->slot][i] = (RaceThread){.clock = since};
    shadow_block_start(block);
}

void race_block_finish(Block *block) {
    if (!race_enabled()) return;
    findings_block_finish(block);
    for (unsigned i = 0; i < block->threads; i++) {
        RaceThread *thread = &race_threads[block->slot][i];
        if (thread->clock > latest) latest = thread->clock;
        thread_clear(thread);
    }
}

/* Of `count` threads from `first` on, those of a mask (NULL: all) know what they knew and did. */
static void meet(Block *block, unsigned first, unsigned count, const unsigned *lanes) {
    RaceThread *threads = &race_threads[block->slot][first];
    uint32_t clocks[BLOCK_THREADS_MAX];
    Knowledge *all = NULL;
    const Knowledge *last = NULL;
    memset(clocks, 0, count * sizeof *clocks);
    for (unsigned i = 0; i < count; i++) {
        if (lanes && !(*lanes >> i & 1)) continue;
        knowledge_join(&threads[i].known, threads[i].pending[SCOPE_BLOCK]);
        knowledge_drop(&threads[i].pending[SCOPE_BLOCK]);
        if (threads[i].known != last) knowledge_join(&all, threads[i].known);
        last = threads[i].known;
        clocks[i] = threads[i].clock++;
    }
    knowledge_learn(&all, (uint32_t)block->linear, first, count, clocks);
    const uint32_t *own = knowledge_clocks(all, (uint32_t)block->linear);
    for (unsigned i = 0; i < count; i++) {
        if (lanes && !(*lanes >> i & 1)) continue;
        knowledge_drop(&threads[i].known);
        threads[i].known = knowledge_share(all);
        threads[i].own = own;
    }
    knowledge_drop(&all);
}

/* Threads that have ended count as having arrived. */
void race_block_barrier(Block *block) {
    if (race_enabled()) meet(block, 0, block->threads, NULL);
}

void race_warp_sync(Block *block, unsigned first_thread, unsigned lanes) {
    if (race_enabled()) meet(block, first_thread, WARP_LANES - (unsigned)__builtin_clz(lanes), &lanes);
}

/* What it knows and did so far. */
static Knowledge *published(const Fiber *self, RaceThread *thread) {
    Knowledge *now = knowledge_share(thread->known);
    knowledge_learn(&now, (uint32_t)self->block->linear, self->thread, 1, &thread->clock);
    thread->clock++;
    return now;
}

/* A fence is both halves of a handshake: it makes known what earlier atomic reads brought, and later atomic writes carry what is
 * known now. */
void race_fence(EmulatorScope scope) {
    if (!race_enabled()) return;
    const Fiber *self = engine.current;
    RaceThread *thread = state_of(self);
    for (int s = SCOPE_BLOCK; s <= (int)scope; s++) {
        knowledge_join(&thread->known, thread->pending[s]);
        knowledge_drop(&thread->pending[s]);
    }
    find_own(thread, self->block);
    Knowledge *now = published(self, thread);
    for (int s = SCOPE_BLOCK; s <= (int)scope; s++) {
        knowledge_drop(&thread->released[s]);
        thread->released[s] = knowledge_share(now);
    }
    knowledge_drop(&now);
}

static inline bool happened_before(const Fiber *self, const RaceThread *thread, const Access *access) {
    if (access->flags & ACCESS_ASYNC) return false;
    if (access->block == self->block->linear) {
        if (access->thread == self->thread) return true;
        return thread->own && thread->own[access->thread] >= access->clock;
    }
    return knowledge_has(thread->known, access->block, access->thread, access->clock);
}

/* Is there an access, of this launch and, in shared memory, of this block? A word's live ones come first. */
static bool is_live(const Access *access, const Access *mine, bool of_block) {
    return access->clock >= since && (!of_block || access->block == mine->block);
}

/* Atomics race if one is for its block alone and the other comes from elsewhere. */
static bool conflicting(const Access *a, const Access *b) {
    if (!(a->bytes & b->bytes) || !((a->flags | b->flags) & ACCESS_WRITES)) return false;
    if (!(a->flags & b->flags & ACCESS_ATOMIC)) return true;
    return ((a->flags | b->flags) & ACCESS_OF_BLOCK) && a->block != b->block;
}

/* May `mine` replace `old`? Only if every access that races with `old` also races with `mine`: `mine` comes later, and whoever
 * comes after `mine` comes after `old`. (An atomic update has observed the atomic writes before it, as PTX has it without a fence:
 * so the last of many blocks may reset their counter by a plain write.) */
static bool replaces(const Access *mine, const Access *old, bool ordered) {
    const bool observed = mine->flags & ACCESS_OBSERVES && old->flags & ACCESS_ATOMIC && old->flags & ACCESS_WRITES;
    if (!(ordered || observed) || (old->bytes & ~mine->bytes) || (mine->flags & ACCESS_WRITES) < (old->flags & ACCESS_WRITES))
        return false;
    if (!(mine->flags & ACCESS_ATOMIC)) return true;
    if (!(old->flags & ACCESS_ATOMIC)) return false;
    return !(old->flags & ACCESS_OF_BLOCK) || (mine->flags & ACCESS_OF_BLOCK && mine->block == old->block);
}

/* Of a word that remembers as many accesses as it can: a read, one that happened before this thread if two tries find it. */
static Access *to_forget(ShadowWord *word, const Fiber *self, const RaceThread *thread) {
    static uint32_t state = 1;
    Access *read = NULL;
    state = state * 1664525 + 1013904223;
    for (uint32_t i = 0, tries = 0; i < WORD_ACCESSES && tries < 2; i++) {
        Access *access = &word->accesses[((state >> 16) + i) % WORD_ACCESSES];
        if (access->flags & ACCESS_WRITES) continue;
        tries++;
        if (!read || happened_before(self, thread, access)) read = access;
    }
    return read ? read : &word->accesses[(state >> 16) % WORD_ACCESSES];
}

/* Most accesses are plain reads: they meet writes only, and replace the thread's own reads only. */
static void check_read(ShadowWord *word, const Access *mine, bool of_block, const void *address, size_t bytes) {
    const Fiber *self = engine.current;
    const RaceThread *thread = state_of(self);
    Access *place = NULL;
    int i;
    for (i = 0; i < WORD_ACCESSES && is_live(&word->accesses[i], mine, of_block); i++) {
        Access *other = &word->accesses[i];
        if (other->flags & ACCESS_WRITES) {
            if (other->bytes & mine->bytes && !happened_before(self, thread, other)) finding_race(mine, other, address, bytes);
        } else if (other->thread == mine->thread && other->block == mine->block && !(other->bytes & ~mine->bytes) &&
                   !(other->flags & ACCESS_ASYNC)) {
            place = other;
        }
    }
    if (!place) place = i < WORD_ACCESSES ? &word->accesses[i] : to_forget(word, self, thread);
    *place = *mine;
}

static void check_write(ShadowWord *word, const Access *mine, bool of_block, const void *address, size_t bytes) {
    const Fiber *self = engine.current;
    const RaceThread *thread = state_of(self);
    int kept = 0, i; /* places are filled in order */
    for (i = 0; i < WORD_ACCESSES && is_live(&word->accesses[i], mine, of_block); i++) {
        const Access *other = &word->accesses[i];
        const bool ordered = happened_before(self, thread, other);
        if (!ordered && conflicting(mine, other)) finding_race(mine, other, address, bytes);
        if (replaces(mine, other, ordered)) continue;
        if (kept < i) word->accesses[kept] = *other;
        kept++;
    }
    *(kept < WORD_ACCESSES ? &word->accesses[kept++] : to_forget(word, self, thread)) = *mine;
    while (kept < i) word->accesses[kept++].clock = 0;
}

static void check_bounds(const Shadow *shadow, const void *address, size_t bytes, const void *pc, EmulatorSite site, bool write) {
    char what[ADDRESS_TEXT_MAX];
    bool good = true;
    if (shadow == &shadows.device)
        good = bytes_within(address, bytes, recent.begin, recent.bytes) ||
               (arena_range(address, &recent.begin, &recent.bytes) && bytes_within(address, bytes, recent.begin, recent.bytes));
    else if (shadow == &shadows.dynamic_shared)
        good = bytes_within(address, bytes, engine.current->block->shared, engine.launch->shared_bytes);
    if (!good)
        fault_at("out of bounds", site, pc, "%s of %zu bytes at %s", write ? "write" : "read", bytes,
                 address_describe(address, what));
}

static bool within(const void *address, const void *begin, size_t bytes) {
    return (uintptr_t)address - (uintptr_t)begin < bytes;
}

/* The program's own image, with the built-in variables. From the linker. */
extern const char __executable_start[], _end[];

/* The image that the kernel lies in: it may read tables there. */
static bool in_image_of(const void *kernel, const void *address) {
    static const void *known;
    static const unsigned char *begin;
    static size_t bytes;
    if (known != kernel && !symbol_image(kernel, &begin, &bytes)) bytes = 0;
    known = kernel;
    return within(address, begin, bytes);
}

/* No shadow: local variables, arguments, constants; anything else a GPU could not reach. */
static void check_host_memory(const void *address, const void *pc) {
    const Stack stack = engine.current->stack;
    const EmulatorLaunch *launch = engine.launch;
    if (within(address, stack.bottom, stack.bytes) || within(address, launch->arguments, launch->argument_bytes) ||
        within(address, __executable_start, (size_t)(_end - __executable_start)) || in_image_of(launch->kernel, address))
        return;
    if ((uintptr_t)address < 4096) return; /* the processor will find it */
    fault_at("host memory touched by a kernel", (EmulatorSite){0}, pc, "address %p is neither device memory nor the thread's own",
             address);
}

/* needs: is what the memory held before part of the result? Inlined where the flags are known. */
static inline __attribute__((always_inline)) void access_memory(const void *address, size_t bytes, unsigned flags, bool needs,
                                                                const void *pc, EmulatorSite site) {
    findings_settle();
    if (bytes == 0) return;
    const Shadow *shadow = shadow_of(address);
    if (!shadow) {
        if (pc) check_host_memory(address, pc);
        return;
    }
    const size_t first = shadow_index(shadow, address);
    ShadowWord *word = &shadow->words[first];
    __builtin_prefetch(word, 1); /* most of the time goes into waiting for it */
    check_bounds(shadow, address, bytes, pc, site, flags & ACCESS_WRITES);
    unsigned char *written = &shadow->written[first];
    if (flags & ACCESS_WRITES && emulator_settings.schedules > 1) shadow_before_write(address, bytes);
    const Fiber *self = engine.current;
    Access mine = {.block = (uint32_t)self->block->linear,
                   .thread = (uint16_t)self->thread,
                   .flags = (uint8_t)flags,
                   .clock = state_of(self)->clock,
                   .place = site.file ? place_of_site(site) : place_of_code(pc)};
    const bool of_block = shadow != &shadows.device && shadow != &shadows.variables;
    const unsigned char *at = address, *end = at + bytes;
    while (true) {
        const size_t offset = (uintptr_t)at % WORD_BYTES;
        const size_t length = (size_t)(end - at) < WORD_BYTES - offset ? (size_t)(end - at) : WORD_BYTES - offset;
        mine.bytes = (uint8_t)(((1u << length) - 1) << offset);
        if (needs && (mine.bytes & ~*written)) finding_unwritten(&mine, address, bytes);
        if (flags & ~(unsigned)ACCESS_ASYNC)
            check_write(word, &mine, of_block, address, bytes);
        else
            check_read(word, &mine, of_block, address, bytes);
        if (flags & ACCESS_WRITES && !(flags & ACCESS_ASYNC)) *written |= mine.bytes;
        at += length;
        if (at >= end || !shadow_covers(shadow, at)) return;
        word++, written++;
    }
}

void race_plain_access(const void *address, size_t bytes, bool write, const void *pc) {
    if (!engine.current) return;
    if (write)
        access_memory(address, bytes, ACCESS_WRITES, false, pc, (EmulatorSite){0});
    else
        access_memory(address, bytes, 0, true, pc, (EmulatorSite){0});
}

/* Did the last write to the variable reach an operation of this scope in this block? */
static bool reaches(const SyncVar *var, EmulatorScope scope, uint32_t block) {
    return var->block == block || (var->scope == SCOPE_DEVICE && scope == SCOPE_DEVICE);
}

/* One that acquires needs no fence. */
static void take(const SyncVar *var, RaceThread *thread, const Block *block, bool acquires) {
    Knowledge **device = acquires ? &thread->known : &thread->pending[SCOPE_DEVICE];
    Knowledge **own = acquires ? &thread->known : &thread->pending[SCOPE_BLOCK];
    knowledge_join(device, var->carried);
    if (var->own[block->slot].block == block->linear) knowledge_join(own, var->own[block->slot].carried);
    if (acquires) find_own(thread, block);
}

static void give(SyncVar *var, RaceThread *thread, const Fiber *self, RaceOrder order) {
    const Block *block = self->block;
    knowledge_join(&var->carried, thread->released[SCOPE_DEVICE]);
    if (var->own[block->slot].block != block->linear) knowledge_drop(&var->own[block->slot].carried);
    var->own[block->slot].block = (uint32_t)block->linear;
    knowledge_join(&var->own[block->slot].carried, thread->released[SCOPE_BLOCK]);
    if (!(order.ordering & RELEASES)) return;
    Knowledge *now = published(self, thread);
    if (order.scope == SCOPE_DEVICE) knowledge_join(&var->carried, now);
    knowledge_join(&var->own[block->slot].carried, now);
    knowledge_drop(&now);
}

/* Atomics read what the last atomic write carried and pass on what the thread's last fence published, or what it did up to now if
 * they release. An update passes on what it read as well, for whichever block (a release sequence goes on through it); a store
 * begins anew. */
void race_synchronising_access(const void *address, size_t bytes, EmulatorAccess access, RaceOrder order, const void *pc,
                               EmulatorSite site) {
    if (!race_enabled() || !engine.current) return;
    if (!shadow_of(address)) return;
    const unsigned flags = ACCESS_ATOMIC | (access == ACCESS_LOAD ? 0u : (unsigned)ACCESS_WRITES) |
                           (access >= ACCESS_UPDATE ? (unsigned)ACCESS_OBSERVES : 0u) |
                           (order.scope == SCOPE_BLOCK ? (unsigned)ACCESS_OF_BLOCK : 0u);
    access_memory(address, bytes, flags, access == ACCESS_LOAD || access == ACCESS_UPDATE, pc, site);
    RaceThread *thread = state_of(engine.current);
    const Block *block = engine.current->block;
    SyncVar *var = syncvar_at(address, access != ACCESS_LOAD && (thread->released[SCOPE_BLOCK] || order.ordering & RELEASES));
    if (!var) return;
    const bool reached = reaches(var, order.scope, (uint32_t)block->linear);
    if (access != ACCESS_STORE && reached) take(var, thread, block, order.ordering & ACQUIRES);
    if (access == ACCESS_LOAD) return;
    if (access == ACCESS_STORE || !reached) syncvar_clear(var);
    var->block = (uint32_t)block->linear;
    var->scope = order.scope;
    give(var, thread, engine.current, order);
}

void race_volatile_access(const void *address, size_t bytes, bool write, const void *pc) {
    if (emulator_settings.relaxed_volatile)
        race_synchronising_access(address, bytes, write ? ACCESS_STORE : ACCESS_LOAD, (RaceOrder){SCOPE_DEVICE, ORDERS_NOTHING}, pc,
                                  (EmulatorSite){0});
    else
        race_plain_access(address, bytes, write, pc);
}

void race_copy_start(const AsyncCopy *copy, EmulatorSite site) {
    if (!race_enabled()) return;
    access_memory(copy->from, copy->bytes, ACCESS_ASYNC, true, NULL, site);
    access_memory(copy->to, copy->bytes + copy->zeros, ACCESS_ASYNC | ACCESS_WRITES, false, NULL, site);
}

/* The copy's accesses in these bytes become its thread's own, at the clock at which it waited or arrived. */
static void arrived(const AsyncCopy *copy, const unsigned char *at, size_t bytes, unsigned flags) {
    const unsigned char *const end = at + bytes;
    const Shadow *shadow = shadow_of(at);
    if (!shadow) return;
    for (at -= (uintptr_t)at % WORD_BYTES; at < end && shadow_covers(shadow, at); at += WORD_BYTES) {
        ShadowWord *word = &shadow->words[shadow_index(shadow, at)];
        unsigned char *written = &shadow->written[shadow_index(shadow, at)];
        for (int i = 0; i < WORD_ACCESSES; i++) {
            Access *access = &word->accesses[i];
            if (access->clock < since || access->flags != flags || access->block != copy->block || access->thread != copy->thread)
                continue;
            access->flags &= ACCESS_WRITES;
            access->clock = copy->clock;
            if (flags & ACCESS_WRITES) *written |= access->bytes;
        }
    }
}

void race_copy_finish(const AsyncCopy *copy) {
    if (!race_enabled()) return;
    findings_settle();
    arrived(copy, copy->from, copy->bytes, ACCESS_ASYNC);
    arrived(copy, copy->to, copy->bytes + copy->zeros, ACCESS_ASYNC | ACCESS_WRITES);
}

uint32_t race_now(void) {
    return race_enabled() ? state_of(engine.current)->clock : 0;
}

void race_before_switch(void) {
    if (race_enabled()) findings_settle();
}

void race_host_wrote(const void *address, size_t bytes) {
    if (race_enabled()) shadow_set_written(address, bytes, true);
}

void race_host_released(const void *address, size_t bytes) {
    if (race_enabled()) shadow_release(address, bytes);
}

void race_host_allocated(const void *address, size_t bytes) {
    if (race_enabled()) shadow_set_written(address, bytes, false);
}
