/* The rules of race.h, on the clocks of knowledge.c and the memory of shadow.c. */
#include "emulator/race.h"

#include "emulator/fault.h"
#include "emulator/memory.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Defined by hooks.c, which is linked exactly if the kernels are instrumented. */
extern const bool race_hooks_linked __attribute__((weak));

bool race_enabled(void) {
    return &race_hooks_linked != NULL;
}

/* One line of the cache. */
typedef struct RaceThread {
    uint32_t block, clock; /* as in Where */
    uint16_t thread;
    bool alone;             /* it knows nothing of other blocks */
    uint32_t life;          /* its block's number */
    Knowledge *known;       /* what happened before whatever this thread does now */
    const uint32_t *own;    /* in it, its own block's clocks; none: all 0 */
    Knowledge *released[2]; /* by scope: what its last fence published: its later atomic writes carry it */
    Knowledge *pending[2];  /* by scope: what its atomic reads brought; its next fence makes it known */
} RaceThread;

static RaceThread race_threads[RESIDENT_MAX][BLOCK_THREADS_MAX] __attribute__((aligned(64)));
static RaceThread *running; /* NULL: the host */
static const uint32_t no_clocks[BLOCK_THREADS_MAX];

/* What the running thread may touch beside device memory. */
Stack race_stack;
static struct {
    const Shadow *variables;
    const unsigned char *dynamic;
    size_t dynamic_bytes;
} reach;

/* Numbers of launches and of blocks: what an earlier launch, or in shared memory an earlier block did no longer matters, as its end
 * orders everything. */
static uint32_t lives, launch_life;

/* `known` has changed. */
static void find_own(RaceThread *thread) {
    const uint32_t *clocks = knowledge_clocks(thread->known, thread->block);
    thread->own = clocks ? clocks : no_clocks;
    thread->alone = knowledge_blocks(thread->known) == (clocks ? 1 : 0);
}

static void thread_clear(RaceThread *thread) {
    knowledge_drop(&thread->known);
    for (int scope = 0; scope < 2; scope++) {
        knowledge_drop(&thread->released[scope]);
        knowledge_drop(&thread->pending[scope]);
    }
}

/* The array that an instruction accessed last; instructions share places. */
enum { RECENT = 64 };
static struct Range {
    const unsigned char *begin;
    size_t bytes;
} recent[RECENT];

void race_launch_start(void) {
    if (!race_enabled()) return;
    memset(recent, 0, sizeof recent);
    launch_life = ++lives;
    if (!place_origin) place_origin = (uintptr_t)engine.launch->kernel;
    knowledge_set_threads(engine.block_threads);
    shadow_launch_start();
}

void race_launch_finish(void) {
    if (!race_enabled()) return;
    findings_launch_finish();
    syncvar_forget_all();
    if (lives < UINT32_MAX / 2) return;
    shadow_forget_all();
    lives = 0;
}

void race_keep(void) {
    if (race_enabled()) shadow_keep();
}

void race_bring_back(void) {
    if (race_enabled()) shadow_bring_back();
}

void race_block_start(Block *block) {
    if (!race_enabled()) return;
    lives++;
    for (unsigned i = 0; i < block->threads; i++)
        race_threads[block->slot][i] = (RaceThread){
            .clock = 1, .block = (uint32_t)block->linear, .thread = (uint16_t)i, .alone = true, .life = lives, .own = no_clocks};
    shadow_block_start(block);
}

void race_block_finish(Block *block) {
    if (!race_enabled()) return;
    findings_block_finish(block);
    for (unsigned i = 0; i < block->threads; i++) thread_clear(&race_threads[block->slot][i]);
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
    RaceThread met = {.block = (uint32_t)block->linear, .known = all};
    find_own(&met);
    for (unsigned i = 0; i < count; i++) {
        if (lanes && !(*lanes >> i & 1)) continue;
        knowledge_drop(&threads[i].known);
        threads[i].known = knowledge_share(all);
        threads[i].own = met.own;
        threads[i].alone = met.alone;
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
static Knowledge *published(RaceThread *thread) {
    Knowledge *now = knowledge_share(thread->known);
    knowledge_learn(&now, thread->block, thread->thread, 1, &thread->clock);
    thread->clock++;
    return now;
}

/* A fence is both halves of a handshake: it makes known what earlier atomic reads brought, and later atomic writes carry what is
 * known now. */
void race_fence(EmulatorScope scope) {
    if (!race_enabled()) return;
    RaceThread *thread = running;
    for (int s = SCOPE_BLOCK; s <= (int)scope; s++) {
        knowledge_join(&thread->known, thread->pending[s]);
        knowledge_drop(&thread->pending[s]);
    }
    find_own(thread);
    Knowledge *now = published(thread);
    for (int s = SCOPE_BLOCK; s <= (int)scope; s++) {
        knowledge_drop(&thread->released[s]);
        thread->released[s] = knowledge_share(now);
    }
    knowledge_drop(&now);
}

/* Before what the running thread, whose access is `mine`, does now. */
static inline bool happened_before(const RaceThread *thread, Access mine, Access access) {
    if (access.flags & ACCESS_ASYNC) return false;
    if (access.block != mine.block) return knowledge_has(thread->known, access.block, access.thread, access.clock);
    return access.thread == mine.thread || thread->own[access.thread] >= access.clock;
}

/* Atomics race if one is for its block alone and the other comes from elsewhere. */
static bool conflicting(Access a, Access b) {
    if (!(a.bytes & b.bytes) || !((a.flags | b.flags) & ACCESS_WRITES)) return false;
    if (!(a.flags & b.flags & ACCESS_ATOMIC)) return true;
    return ((a.flags | b.flags) & ACCESS_OF_BLOCK) && a.block != b.block;
}

/* May `mine` replace `old`? Only if every access that races with `old` also races with `mine`: `mine` comes later, and whoever
 * comes after `mine` comes after `old`. (An atomic update has observed the atomic writes before it, as PTX has it without a fence:
 * so the last of many blocks may reset their counter by a plain write.) */
static bool replaces(Access mine, Access old, bool ordered) {
    const bool observed = mine.flags & ACCESS_OBSERVES && old.flags & ACCESS_ATOMIC && old.flags & ACCESS_WRITES;
    if (!(ordered || observed) || (old.bytes & ~mine.bytes) || (mine.flags & ACCESS_WRITES) < (old.flags & ACCESS_WRITES))
        return false;
    if (!(mine.flags & ACCESS_ATOMIC)) return true;
    if (!(old.flags & ACCESS_ATOMIC)) return false;
    return !(old.flags & ACCESS_OF_BLOCK) || (mine.flags & ACCESS_OF_BLOCK && mine.block == old.block);
}

/* Of a word that remembers as many accesses as it can one is forgotten. */
static uint32_t forgetting = 1;
enum { NO_SECOND = -1 };
typedef struct Candidates {
    int first, second;
} Candidates;

static inline uint32_t forget_next(void) {
    return forgetting * 1664525 + 1013904223;
}

/* Two of its reads, from a place on that `random` tells, around the end; without a read that place. */
static inline __attribute__((always_inline)) Candidates candidates(const ShadowHead *head, uint32_t random) {
    const unsigned from = random >> 16 & (WORD_ACCESSES - 1), reads = (uint8_t)~head->writes;
    unsigned left = (reads | reads << WORD_ACCESSES) >> from & ((1u << WORD_ACCESSES) - 1);
    if (!left) return (Candidates){(int)from, NO_SECOND};
    const int first = (int)(from + (unsigned)__builtin_ctz(left)) % WORD_ACCESSES;
    left &= left - 1;
    return (Candidates){first, left ? (int)(from + (unsigned)__builtin_ctz(left)) % WORD_ACCESSES : NO_SECOND};
}

/* The second if it happened before this thread. */
static inline int to_forget(ShadowWord word, const RaceThread *thread, Access mine) {
    forgetting = forget_next();
    const Candidates one = candidates(word.head, forgetting);
    return one.second != NO_SECOND && happened_before(thread, mine, access_at(word, one.second)) ? one.second : one.first;
}

/* The accesses of a word that are plain reads of threads with this number: two bits each. */
static inline unsigned reads_of(const ShadowHead *head, uint16_t thread) {
    const uint16_t who = who_of(thread, 0);
    unsigned found = 0;
#ifdef __SSE2__
    found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi16(*(const __m128i *)head->who, _mm_set1_epi16((short)who)));
#else
    for (int i = 0; i < WORD_ACCESSES; i++) found |= head->who[i] == who ? 3u << 2 * i : 0;
#endif
    return found & ((1u << 2 * head->count) - 1);
}

/* The thread's own plain read that `mine` replaces; -1: none. One by the same instruction with nothing between becomes part of it.
 */
static inline int own_read(ShadowWord word, Access *mine) {
    for (unsigned left = reads_of(word.head, mine->thread); left;) {
        const int i = __builtin_ctz(left) / 2;
        const Where *where = where_of(word, i);
        left &= ~(3u << 2 * i);
        if (where->block != mine->block) continue;
        if (where->clock == mine->clock && where->place == mine->place) mine->bytes |= word.head->bytes[i];
        if (!(word.head->bytes[i] & ~mine->bytes)) return i;
    }
    return -1;
}

/* Most accesses are plain reads: they meet writes only, and replace the thread's own reads only. */
static inline __attribute__((always_inline)) void check_read(ShadowWord word, const RaceThread *thread, Access mine,
                                                             const void *address, size_t bytes) {
    for (unsigned left = word.head->writes; left; left &= left - 1) {
        const Access other = access_at(word, __builtin_ctz(left));
        if (other.bytes & mine.bytes && !happened_before(thread, mine, other)) finding_race(mine, other, address, bytes);
    }
    int place = own_read(word, &mine);
    if (place < 0) place = word.head->count < WORD_ACCESSES ? word.head->count++ : to_forget(word, thread, mine);
    access_put(word, place, mine);
}

static void check_write(ShadowWord word, const RaceThread *thread, Access mine, const void *address, size_t bytes) {
    int kept = 0;
    for (int i = 0; i < word.head->count; i++) {
        const Access other = access_at(word, i);
        const bool ordered = happened_before(thread, mine, other);
        if (!ordered && conflicting(mine, other)) finding_race(mine, other, address, bytes);
        if (replaces(mine, other, ordered)) continue;
        if (kept < i) access_put(word, kept, other);
        kept++;
    }
    access_put(word, kept < WORD_ACCESSES ? kept++ : to_forget(word, thread, mine), mine);
    word.head->count = (uint8_t)kept;
    word.head->writes &= (uint8_t)((1u << kept) - 1);
}

static inline struct Range *recent_of(const void *pc) {
    return &recent[(uintptr_t)pc / 4 % RECENT];
}

static void check_bounds(const Shadow *shadow, const void *address, size_t bytes, const void *pc, EmulatorSite site, bool write) {
    char what[ADDRESS_TEXT_MAX];
    struct Range *const range = recent_of(pc);
    bool good = true;
    if (shadow == &shadows.device)
        good = arena_range(address, &range->begin, &range->bytes) && bytes_within(address, bytes, range->begin, range->bytes);
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

static inline uint32_t life_in(const Shadow *shadow) {
    return shadow == &shadows.device || shadow == &shadows.variables ? launch_life : running->life;
}

/* Words that are likely to be used soon after one of them. */
enum { TOGETHER = 8 };

/* The word is a launch's, or in shared memory a block's, for the first time. */
static __attribute__((noinline)) void begin_life(const Shadow *shadow, size_t index, uint32_t life) {
    ShadowHead *head = &shadow->heads[index];
    for (size_t beside = 1; beside < TOGETHER; beside++) __builtin_prefetch(&shadow->heads[index ^ beside], 1);
    head->life = life;
    head->count = head->writes = 0;
    if (shadow == reach.variables) shared_touch(shadow->begin + index * WORD_BYTES, WORD_BYTES);
}

/* needs: is what the memory held before part of the result? */
static inline __attribute__((always_inline)) void access_word(const Shadow *shadow, size_t index, const RaceThread *thread,
                                                              Access mine, bool needs, const void *address, size_t bytes) {
    const ShadowWord word = shadow_word(shadow, index);
    unsigned char *const written = &shadow->written[index];
    const uint32_t life = life_in(shadow);
    if (needs && (mine.bytes & ~*written)) finding_unwritten(mine, address, bytes);
    if (word.head->life != life) begin_life(shadow, index, life);
    if (mine.flags & ~(unsigned)ACCESS_ASYNC)
        check_write(word, thread, mine, address, bytes);
    else
        check_read(word, thread, mine, address, bytes);
    if (mine.flags & ACCESS_WRITES && !(mine.flags & ACCESS_ASYNC)) *written |= mine.bytes;
}

/* Of an access of several words, the first `done` bytes of which are. */
static __attribute__((noinline)) void access_words(const Shadow *shadow, const RaceThread *thread, Access mine, bool needs,
                                                   const void *address, size_t bytes, size_t done) {
    const unsigned char *at = (const unsigned char *)address + done, *const end = (const unsigned char *)address + bytes;
    while (at < end && shadow_covers(shadow, at)) {
        const size_t offset = (uintptr_t)at % WORD_BYTES, index = shadow_index(shadow, at);
        const size_t length = (size_t)(end - at) < WORD_BYTES - offset ? (size_t)(end - at) : WORD_BYTES - offset;
        mine.bytes = (uint8_t)(((1u << length) - 1) << offset);
        access_word(shadow, index, thread, mine, needs, address, bytes);
        at += length;
    }
}

/* Inlined where the flags are known. */
static inline __attribute__((always_inline)) void access_memory(const void *address, size_t bytes, unsigned flags, bool needs,
                                                                const void *pc, EmulatorSite site) {
    findings_settle();
    if (bytes == 0) return;
    const Shadow *shadow = &shadows.device;
    const struct Range *range = recent_of(pc);
    if (!bytes_within(address, bytes, range->begin, range->bytes)) {
        shadow = shadow_of(address);
        if (!shadow) {
            if (pc) check_host_memory(address, pc);
            return;
        }
        check_bounds(shadow, address, bytes, pc, site, flags & ACCESS_WRITES);
    }
    if (flags & ACCESS_WRITES && emulator_settings.schedules > 1) shadow_before_write(address, bytes);
    const RaceThread *thread = running;
    Access mine = {.block = thread->block,
                   .thread = thread->thread,
                   .flags = (uint8_t)flags,
                   .clock = thread->clock,
                   .place = site.file ? place_of_site(site) : place_of_code(pc)};
    const size_t offset = (uintptr_t)address % WORD_BYTES, index = shadow_index(shadow, address);
    if (bytes > WORD_BYTES - offset) {
        access_words(shadow, thread, mine, needs, address, bytes, 0);
        return;
    }
    mine.bytes = (uint8_t)(((1u << bytes) - 1) << offset);
    access_word(shadow, index, thread, mine, needs, address, bytes);
}

static __attribute__((noinline)) void plain_access(const void *address, size_t bytes, bool write, const void *pc) {
    const EmulatorLaunch *launch = engine.launch;
    if (within(address, launch->arguments, launch->argument_bytes)) return;
    if (write)
        access_memory(address, bytes, ACCESS_WRITES, false, pc, (EmulatorSite){0});
    else
        access_memory(address, bytes, 0, true, pc, (EmulatorSite){0});
}

/* ---- The usual plain access: of one word, all of whose other accesses that matter are this block's and ordered. Each function
 * below says whether it is one, and if not has changed nothing that counts; then plain_access() does it all. */

typedef enum Order { BEFORE, UNORDERED, NOT_USUAL } Order;

static inline __attribute__((always_inline)) Order usual_order(ShadowWord word, int i, const RaceThread *thread) {
    const unsigned who = word.head->who[i];
    const Where *where = where_of(word, i);
    if (who & ACCESS_ASYNC) return NOT_USUAL;
    if (where->block != thread->block) return thread->alone ? UNORDERED : NOT_USUAL;
    return who >> 5 == thread->thread || thread->own[who >> 5] >= where->clock ? BEFORE : UNORDERED;
}

static inline __attribute__((always_inline)) void usual_put(ShadowWord word, int i, const RaceThread *thread, unsigned mask,
                                                            unsigned flags, uint32_t place) {
    Where *where = where_of(word, i);
    word.head->bytes[i] = (uint8_t)mask;
    word.head->who[i] = who_of(thread->thread, flags);
    memcpy(where, &thread->block, sizeof where->block + sizeof where->clock);
    where->place = place;
}

typedef struct Place {
    const Shadow *shadow;
    uint32_t life;
} Place;

/* Where the address lies, if it may be touched; shadow is NULL if it takes longer to tell. */
static inline __attribute__((always_inline)) Place usual_place(const void *address, size_t bytes, const void *pc) {
    const struct Range *range = recent_of(pc);
    if (bytes_within(address, bytes, range->begin, range->bytes)) return (Place){&shadows.device, launch_life};
    const Shadow *variables = reach.variables;
    if (bytes_within(address, bytes, variables->begin, variables->bytes)) return (Place){variables, running->life};
    if (bytes_within(address, bytes, reach.dynamic, reach.dynamic_bytes)) return (Place){&shadows.dynamic_shared, running->life};
    return (Place){0};
}

static inline __attribute__((always_inline)) bool usual_read(ShadowWord word, const RaceThread *thread, unsigned mask,
                                                             uint32_t place) {
    ShadowHead *head = word.head;
    for (unsigned left = head->writes; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        if (head->bytes[i] & mask && usual_order(word, i, thread) != BEFORE) return false;
    }
    Access mine = {
        .block = thread->block, .thread = thread->thread, .bytes = (uint8_t)mask, .clock = thread->clock, .place = place};
    int i = own_read(word, &mine);
    if (i < 0 && head->count < WORD_ACCESSES) {
        i = head->count++;
    } else if (i < 0) {
        const uint32_t random = forget_next();
        const Candidates one = candidates(head, random);
        const Order order = one.second == NO_SECOND ? UNORDERED : usual_order(word, one.second, thread);
        if (order == NOT_USUAL || head->writes == 0xff) return false;
        i = order == BEFORE ? one.second : one.first;
        forgetting = random;
    }
    usual_put(word, i, thread, mine.bytes, 0, place);
    return true;
}

static inline __attribute__((always_inline)) bool usual_write(ShadowWord word, const RaceThread *thread, unsigned mask,
                                                              uint32_t place) {
    ShadowHead *head = word.head;
    int dropped = 0;
    for (int i = 0; i < head->count; i++) {
        if (!(head->bytes[i] & mask)) continue; /* beside it: a neighbour's */
        if ((head->bytes[i] & ~mask) || usual_order(word, i, thread) != BEFORE) return false;
        dropped++;
    }
    if (dropped == head->count)
        head->count = head->writes = 0;
    else if (dropped > 0 || head->count == WORD_ACCESSES)
        return false;
    head->writes |= (uint8_t)(1u << head->count);
    usual_put(word, head->count++, thread, mask, ACCESS_WRITES, place);
    return true;
}

/* Of the word that holds `address`. */
static inline __attribute__((always_inline)) bool usual_access(Place at, const void *address, unsigned mask, bool write,
                                                               uint32_t place) {
    const size_t index = shadow_index(at.shadow, address);
    const ShadowWord word = shadow_word(at.shadow, index);
    unsigned char *const written = &at.shadow->written[index];
    if (mask != 0xff) __builtin_prefetch(word.rest); /* the other parts' accesses are likely there */
    if (word.head->life != at.life) begin_life(at.shadow, index, at.life);
    if (!write) return (mask & ~(unsigned)*written) == 0 && usual_read(word, running, mask, place);
    if (!usual_write(word, running, mask, place)) return false;
    *written |= (unsigned char)mask;
    return true;
}

/* All but its first `done` bytes, the long way. */
static __attribute__((noinline)) void rest_of_access(const void *address, size_t bytes, size_t done, bool write, const void *pc) {
    const Access mine = {.block = running->block,
                         .thread = running->thread,
                         .flags = write ? ACCESS_WRITES : 0,
                         .clock = running->clock,
                         .place = place_of_code(pc)};
    access_words(shadow_of(address), running, mine, !write, address, bytes, done);
}

/* One of whole words, whose number the compiler may know, or of part of one. */
static inline __attribute__((always_inline)) void plain(const void *address, size_t bytes, bool write, const void *pc) {
    if (!running || race_is_local(address)) return;
    const Place at = usual_place(address, bytes, pc);
    const size_t offset = (uintptr_t)address % WORD_BYTES, step = bytes < WORD_BYTES ? bytes : WORD_BYTES;
    if (!at.shadow || findings_open || (bytes < WORD_BYTES ? offset + bytes > WORD_BYTES : offset != 0)) {
        plain_access(address, bytes, write, pc);
        return;
    }
    const unsigned mask = ((1u << step) - 1) << offset;
    for (size_t done = 0; done < bytes; done += step)
        if (!usual_access(at, (const unsigned char *)address + done, mask, write, place_of_code(pc))) {
            if (done == 0)
                plain_access(address, bytes, write, pc);
            else
                rest_of_access(address, bytes, done, write, pc);
            return;
        }
}

void race_plain_access(const void *address, size_t bytes, bool write, const void *pc) {
    if (bytes > 0 && bytes % WORD_BYTES == 0)
        plain(address, bytes, write, pc);
    else if (running)
        plain_access(address, bytes, write, pc);
}

#define PLAIN(bytes)                                                                                                               \
    void race_read##bytes(const void *address, const void *pc) {                                                                   \
        plain(address, bytes, false, pc);                                                                                          \
    }                                                                                                                              \
    void race_write##bytes(const void *address, const void *pc) {                                                                  \
        plain(address, bytes, true, pc);                                                                                           \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

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
    if (acquires) find_own(thread);
}

static void give(SyncVar *var, RaceThread *thread, const Block *block, RaceOrder order) {
    knowledge_join(&var->carried, thread->released[SCOPE_DEVICE]);
    if (var->own[block->slot].block != block->linear) knowledge_drop(&var->own[block->slot].carried);
    var->own[block->slot].block = (uint32_t)block->linear;
    knowledge_join(&var->own[block->slot].carried, thread->released[SCOPE_BLOCK]);
    if (!(order.ordering & RELEASES)) return;
    Knowledge *now = published(thread);
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
    RaceThread *thread = running;
    const Block *block = engine.current->block;
    SyncVar *var = syncvar_at(address, access != ACCESS_LOAD && (thread->released[SCOPE_BLOCK] || order.ordering & RELEASES));
    if (!var) return;
    const bool reached = reaches(var, order.scope, (uint32_t)block->linear);
    if (access != ACCESS_STORE && reached) take(var, thread, block, order.ordering & ACQUIRES);
    if (access == ACCESS_LOAD) return;
    if (access == ACCESS_STORE || !reached) syncvar_clear(var);
    var->block = (uint32_t)block->linear;
    var->scope = order.scope;
    give(var, thread, block, order);
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
        const ShadowWord word = shadow_word(shadow, shadow_index(shadow, at));
        unsigned char *written = &shadow->written[shadow_index(shadow, at)];
        for (int i = 0; word.head->life == life_in(shadow) && i < word.head->count; i++) {
            Access access = access_at(word, i);
            if (access.flags != flags || access.block != copy->block || access.thread != copy->thread) continue;
            access.flags &= ACCESS_WRITES;
            access.clock = copy->clock;
            access_put(word, i, access);
            if (flags & ACCESS_WRITES) *written |= access.bytes;
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
    return race_enabled() ? running->clock : 0;
}

void race_before_switch(const Fiber *next) {
    if (!race_enabled()) return;
    findings_settle();
    running = next ? &race_threads[next->block->slot][next->thread] : NULL;
    if (!next) return;
    race_stack = next->stack;
    if (next->block == engine.current_block) return;
    reach.variables = &shadows.static_shared[next->block->slot];
    reach.dynamic = next->block->shared;
    reach.dynamic_bytes = engine.launch->shared_bytes;
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
