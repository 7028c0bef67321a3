/* __syncthreads() and its reductions. A barrier is complete when every thread that has not ended is there (PTX: a thread that exits
 * no longer holds up a barrier). All must have come to it at the same place of the source: anything else is a barrier in divergent
 * code, which CUDA leaves undefined even where the hardware happens to count right. */
#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/race.h"
#include "emulator/values.h"

#include <stdlib.h>
#include <string.h>

static bool same_site(EmulatorSite a, EmulatorSite b) {
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* Is this the first fault at the place? A program as it is goes on after those of this file that have something to go on with. */
static bool is_first(EmulatorSite site) {
    static uint32_t known[FAULTS_MAX]; /* the last one ends the run */
    static int count;
    const uint32_t place = place_of_site(site);
    for (int i = 0; i < count; i++)
        if (known[i] == place) return false;
    known[count++] = place;
    return true;
}

static void check_convergence(const Block *block) {
    const Fiber *first = NULL;
    for (unsigned i = 0; i < block->threads; i++) {
        const Fiber *fiber = &block->fibers[i];
        if (fiber->state != FIBER_AT_BARRIER) continue;
        if (!first) first = fiber;
        if (same_site(first->site, fiber->site) || !is_first(fiber->site)) continue;
        char a[PLACE_MAX], b[PLACE_MAX], place[512], where[512];
        fault_more("barrier in divergent code", fault_site_text(fiber->site, where, sizeof where),
                   "thread %s waits at %s while thread %s of the same block waits at another barrier",
                   fault_thread_text(first->index, a), fault_site_text(first->site, place, sizeof place),
                   fault_thread_text(fiber->index, b));
        if (!program_runs()) fault_end(0);
    }
}

static int reduce_barrier(const Block *block, UnsetBits *unset) {
    int count = 0, all = 1, any = 0;
    EmulatorBarrier kind = BARRIER_PLAIN;
    for (unsigned i = 0; i < block->threads; i++) {
        const Fiber *fiber = &block->fibers[i];
        if (fiber->state != FIBER_AT_BARRIER) continue;
        kind = fiber->barrier;
        count += fiber->predicate != 0;
        all &= fiber->predicate != 0;
        any |= fiber->predicate != 0;
        if (fiber->unset.bits) *unset = (UnsetBits){UINT64_MAX, fiber->unset.origin};
    }
    return kind == BARRIER_COUNT ? count : kind == BARRIER_AND ? all : any;
}

static void complete_barrier(Block *block) {
    check_convergence(block);
    UnsetBits unset = {0};
    const int result = reduce_barrier(block, &unset);
    race_block_barrier(block);
    for (unsigned i = 0; i < block->threads; i++) {
        Fiber *fiber = &block->fibers[i];
        if (fiber->state != FIBER_AT_BARRIER) continue;
        fiber->result = (uint64_t)result;
        fiber->unset = unset;
        schedule_wake(fiber);
    }
    block->at_barrier = 0;
    block->cursor = 0; /* begin again with the first in order */
    engine.progress++;
}

void barrier_check(Fiber *fiber) {
    Block *block = fiber->block;
    if (block->at_barrier > 0 && block->at_barrier == block->live) complete_barrier(block);
}

int emulator_barrier(EmulatorBarrier kind, int predicate, EmulatorSite site) {
    Fiber *self = engine.current;
    self->barrier = kind;
    self->predicate = predicate;
    if (values_enabled()) self->unset = values_argument(1);
    self->block->at_barrier++;
    schedule_wait(FIBER_AT_BARRIER, site, barrier_check);
    if (values_enabled()) values_result(self->unset);
    return (int)self->result;
}

/* Warp operations: shuffles, votes, matches, reductions, __syncwarp(). The lanes named in the mask wait for each other; lanes that
 * have ended or never existed are not waited for. What CUDA leaves undefined is a fault: a caller outside its own mask, lanes of
 * one mask in different operations, a shuffle that reads from a lane that does not take part.
 */

static const char *const NAMES[] = {
    [WARP_SYNC] = "__syncwarp",
    [WARP_SHUFFLE] = "__shfl_sync",
    [WARP_SHUFFLE_UP] = "__shfl_up_sync",
    [WARP_SHUFFLE_DOWN] = "__shfl_down_sync",
    [WARP_SHUFFLE_XOR] = "__shfl_xor_sync",
    [WARP_ALL] = "__all_sync",
    [WARP_ANY] = "__any_sync",
    [WARP_BALLOT] = "__ballot_sync",
    [WARP_MATCH_ANY] = "__match_any_sync",
    [WARP_MATCH_ALL] = "__match_all_sync",
    [WARP_REDUCE_ADD] = "__reduce_add_sync",
    [WARP_REDUCE_MIN] = "__reduce_min_sync",
    [WARP_REDUCE_MAX] = "__reduce_max_sync",
    [WARP_REDUCE_MIN_SIGNED] = "__reduce_min_sync",
    [WARP_REDUCE_MAX_SIGNED] = "__reduce_max_sync",
    [WARP_REDUCE_AND] = "__reduce_and_sync",
    [WARP_REDUCE_OR] = "__reduce_or_sync",
    [WARP_REDUCE_XOR] = "__reduce_xor_sync",
};

/* The lanes that carry out one operation together: NULL for those not in the mask, ended or never there. */
typedef struct Party {
    Fiber *lanes[WARP_LANES];
    unsigned present;
} Party;

static unsigned lane_of(const Fiber *fiber) {
    return fiber->thread % WARP_LANES;
}

static Fiber *lane_at(const Fiber *self, unsigned lane) {
    const unsigned thread = self->thread - lane_of(self) + lane;
    return thread < self->block->threads ? &self->block->fibers[thread] : NULL;
}

/* __syncwarp() may stand in both branches of a condition; operations that exchange values must be one and the same. */
static void check_together(const Fiber *a, const Fiber *b) {
    if (a->call.op == b->call.op && (a->call.op == WARP_SYNC || same_site(a->site, b->site))) return;
    char thread[PLACE_MAX], place[512];
    fault_at("warp operation in divergent code", b->site, NULL,
             "%s with mask 0x%08x is waited for by thread %s of the same mask in %s at %s", NAMES[b->call.op], b->call.mask,
             fault_thread_text(a->index, thread), NAMES[a->call.op], fault_site_text(a->site, place, sizeof place));
}

/* Have all lanes of `self`'s mask come? Then they are the party. */
static bool gather(const Fiber *self, Party *party) {
    const unsigned warp = self->thread / WARP_LANES;
    if (self->call.mask & self->block->live_lanes[warp] & ~self->block->waiting_lanes[warp]) return false;
    *party = (Party){0};
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (!(self->call.mask >> lane & 1)) continue;
        Fiber *fiber = lane_at(self, lane);
        if (!fiber || fiber->state == FIBER_DONE) continue;
        if (fiber->call.mask != self->call.mask) return false;
        party->lanes[lane] = fiber;
        party->present |= 1u << lane;
    }
    return true;
}

/* Which lane does this shuffle read? Its own where the hardware keeps the caller's value. */
static unsigned source_lane(const Fiber *fiber) {
    const unsigned lane = lane_of(fiber), width = fiber->call.width, first = lane & ~(width - 1), last = first + width - 1;
    const unsigned operand = fiber->call.operand;
    switch (fiber->call.op) {
    case WARP_SHUFFLE:
        return first + (operand & (width - 1));
    case WARP_SHUFFLE_UP:
        return operand <= lane - first ? lane - operand : lane;
    case WARP_SHUFFLE_DOWN:
        return operand <= last - lane ? lane + operand : lane;
    default:
        return (lane ^ (operand & 31)) <= last ? lane ^ (operand & 31) : lane;
    }
}

static void report_absent(const Fiber *fiber, unsigned from) {
    char where[512];
    if (!is_first(fiber->site)) return;
    fault_more("shuffle from an absent lane", fault_site_text(fiber->site, where, sizeof where),
               "%s in lane %u reads lane %u, which %s: the value is undefined", NAMES[fiber->call.op], lane_of(fiber), from,
               fiber->call.mask >> from & 1 ? "has ended or does not exist" : "is not in the mask");
    if (!program_runs()) fault_end(0);
}

/* Of an absent lane: the lane's own. */
static const Fiber *shuffled(const Party *party, const Fiber *fiber) {
    const unsigned from = source_lane(fiber);
    if (!party->lanes[from]) report_absent(fiber, from);
    return party->lanes[from] ? party->lanes[from] : fiber;
}

static uint64_t combine(EmulatorWarpOp op, uint64_t a, uint64_t b) {
    switch (op) {
    case WARP_REDUCE_ADD:
        return (uint32_t)(a + b);
    case WARP_REDUCE_MIN:
        return a < b ? a : b;
    case WARP_REDUCE_MAX:
        return a > b ? a : b;
    case WARP_REDUCE_MIN_SIGNED:
        return (int32_t)a < (int32_t)b ? a : b;
    case WARP_REDUCE_MAX_SIGNED:
        return (int32_t)a > (int32_t)b ? a : b;
    case WARP_REDUCE_AND:
        return a & b;
    case WARP_REDUCE_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* What all lanes of the party get alike. */
static uint64_t common_result(const Party *party, EmulatorWarpOp op) {
    uint64_t ballot = 0, reduced = 0, first = 0;
    bool begun = false, equal = true;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (!party->lanes[lane]) continue;
        const uint64_t value = party->lanes[lane]->call.value;
        ballot |= (uint64_t)(value != 0) << lane;
        reduced = begun ? combine(op, reduced, value) : value;
        if (!begun) first = value;
        equal &= value == first;
        begun = true;
    }
    switch (op) {
    case WARP_SYNC:
        return 0;
    case WARP_ALL:
        return ballot == party->present;
    case WARP_ANY:
        return ballot != 0;
    case WARP_BALLOT:
        return ballot;
    case WARP_MATCH_ALL:
        return equal ? party->present : 0;
    default:
        return reduced;
    }
}

/* Of which unset bits? In a ballot each lane has a bit of its own. */
static UnsetBits common_unset(const Party *party, EmulatorWarpOp op) {
    UnsetBits unset = {0};
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (party->lanes[lane] && party->lanes[lane]->call.unset.bits) {
            unset.bits |= op == WARP_BALLOT ? UINT64_C(1) << lane : UINT64_MAX;
            unset.origin = party->lanes[lane]->call.unset.origin;
        }
    return unset;
}

static uint64_t lanes_with(const Party *party, uint64_t value) {
    uint64_t found = 0;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (party->lanes[lane] && party->lanes[lane]->call.value == value) found |= UINT64_C(1) << lane;
    return found;
}

static void complete_warp(const Party *party, const Fiber *self) {
    const EmulatorWarpOp op = self->call.op;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (party->lanes[lane]) check_together(party->lanes[lane], self);
    const uint64_t common = common_result(party, op);
    const UnsetBits unset = values_enabled() ? common_unset(party, op) : (UnsetBits){0};
    const bool shuffles = op >= WARP_SHUFFLE && op <= WARP_SHUFFLE_XOR;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        Fiber *fiber = party->lanes[lane];
        if (!fiber) continue;
        const Fiber *from = shuffles ? shuffled(party, fiber) : fiber;
        fiber->result = shuffles ? from->call.value : op == WARP_MATCH_ANY ? lanes_with(party, fiber->call.value) : common;
        if (values_enabled()) fiber->unset = shuffles ? from->call.unset : unset;
    }
    if (op == WARP_SYNC) race_warp_sync(self->block, self->thread - lane_of(self), party->present);
    self->block->waiting_lanes[self->thread / WARP_LANES] &= ~party->present;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (party->lanes[lane]) schedule_wake(party->lanes[lane]);
}

static void check_warp(Fiber *self) {
    Party party;
    if (self->state == FIBER_AT_WARP && gather(self, &party)) complete_warp(&party, self);
}

uint64_t emulator_warp(EmulatorWarpOp op, unsigned mask, uint64_t value, unsigned operand, unsigned width, EmulatorSite site) {
    Fiber *self = engine.current;
    if (!(mask >> lane_of(self) & 1))
        fault_at("wrong mask", site, NULL, "%s is called by lane %u with mask 0x%08x, which does not name it", NAMES[op],
                 lane_of(self), mask);
    if (width == 0 || width > WARP_LANES || (width & (width - 1)))
        fault_at("wrong width", site, NULL, "%s with width %u: a power of two from 1 to 32 is wanted", NAMES[op], width);
    self->call = (WarpCall){.op = op, .mask = mask, .value = value, .operand = operand, .width = width};
    if (values_enabled()) self->call.unset = values_argument(2);
    self->block->waiting_lanes[self->thread / WARP_LANES] |= 1u << lane_of(self);
    schedule_wait(FIBER_AT_WARP, site, check_warp);
    if (values_enabled()) values_result(self->unset);
    return self->result;
}

void warp_thread_ended(Fiber *ended) {
    const unsigned warp = ended->thread / WARP_LANES;
    ended->block->live_lanes[warp] &= ~(1u << lane_of(ended));
    for (unsigned waiting = ended->block->waiting_lanes[warp]; waiting; waiting &= waiting - 1)
        check_warp(lane_at(ended, (unsigned)__builtin_ctz(waiting)));
}

/* Lanes need not run together, so a caller may count on itself alone. */
unsigned emulator_active_mask(void) {
    return 1u << lane_of(engine.current);
}

unsigned emulator_lane(void) {
    return lane_of(engine.current);
}

/* Atomics and fences: another thread may run before or after one, never within. */

static void check_operation(const char *operation, const void *address, size_t bytes, EmulatorSite site) {
    char what[ADDRESS_TEXT_MAX];
    if (!engine.current) fault_at("device function called by host code", site, NULL, "%s outside a kernel", operation);
    engine.current->site = site;
    if (bytes && (uintptr_t)address % bytes)
        fault_at("misaligned address", site, NULL, "%s of %zu bytes at %s", operation, bytes, address_describe(address, what));
    const void *bad = sanitizer_first_forbidden(address, bytes);
    if (bad) fault_at("out of bounds", site, NULL, "%s of %zu bytes at %s", operation, bytes, address_describe(bad, what));
}

void emulator_atomic_ordered(const void *address, size_t bytes, EmulatorAccess access, EmulatorScope scope,
                             EmulatorOrdering ordering, EmulatorSite site) {
    emulator_pause();
    check_operation("an atomic operation", address, bytes, site);
    race_synchronising_access(address, bytes, access, (RaceOrder){scope, ordering}, NULL, site);
}

void emulator_atomic(const void *address, size_t bytes, EmulatorAccess access, EmulatorScope scope, EmulatorSite site) {
    emulator_atomic_ordered(address, bytes, access, scope, ORDERS_NOTHING, site);
}

/* Asynchronous copies. The copy is done as late as it may be, so that who reads early reads what was there before. */

void emulator_copy_start(void *to, const void *from, size_t bytes, size_t zeros, EmulatorSite site) {
    check_operation("an asynchronous copy", to, bytes + zeros, site);
    check_operation("an asynchronous copy", from, bytes, site);
    Fiber *self = engine.current;
    AsyncCopy *copy = malloc(sizeof *copy), **last = &self->copies;
    if (!copy) fault_internal("no memory for asynchronous copies");
    *copy = (AsyncCopy){.to = to,
                        .from = from,
                        .bytes = bytes,
                        .zeros = zeros,
                        .group = self->copy_groups,
                        .block = (uint32_t)self->block->linear,
                        .thread = self->thread};
    while (*last) last = &(*last)->next;
    *last = copy;
    race_copy_start(copy, site);
    emulator_pause();
}

void emulator_copy_commit(void) {
    engine.current->copy_groups++;
}

/* It leaves the list. */
static void copy_finish(AsyncCopy **at) {
    AsyncCopy *copy = *at;
    race_copy_finish(copy);
    bytes_copy(copy->to, copy->from, copy->bytes);
    bytes_fill(copy->to + copy->bytes, 0, copy->zeros);
    values_copy(copy->to, copy->from, copy->bytes);
    values_set(copy->to + copy->bytes, copy->zeros);
    *at = copy->next;
    free(copy);
}

void emulator_copy_wait(unsigned groups_left) {
    Fiber *self = engine.current;
    while (self->copies && self->copies->group + groups_left < self->copy_groups) {
        self->copies->clock = race_now();
        copy_finish(&self->copies);
    }
    emulator_pause();
}

void emulator_copy_bind(const void *barrier) {
    Fiber *self = engine.current;
    AsyncCopy **last = &self->copies;
    while ((*last)->next) last = &(*last)->next;
    AsyncCopy *copy = *last;
    *last = NULL;
    copy->barrier = barrier;
    copy->next = self->bound;
    self->bound = copy;
}

void emulator_copy_arrive(const void *barrier, unsigned phase) {
    Fiber *self = engine.current;
    for (AsyncCopy **at = &self->bound; *at;) {
        AsyncCopy *copy = *at;
        if (copy->barrier != barrier) {
            at = &copy->next;
            continue;
        }
        *at = copy->next;
        copy->phase = phase;
        copy->clock = race_now();
        copy->next = self->block->arrived;
        self->block->arrived = copy;
    }
}

void emulator_copy_settle(const void *barrier, unsigned phase) {
    for (AsyncCopy **at = &engine.current->block->arrived; *at;)
        if ((*at)->barrier == barrier && (int)(phase - (*at)->phase) >= 0)
            copy_finish(at);
        else
            at = &(*at)->next;
}

static void drop_copies(AsyncCopy **copies) {
    while (*copies) {
        AsyncCopy *copy = *copies;
        *copies = copy->next;
        free(copy);
    }
}

/* Copies that nobody waited for never arrive. */
void copies_thread_ended(Fiber *fiber) {
    drop_copies(&fiber->copies);
    drop_copies(&fiber->bound);
}

void copies_block_ended(Block *block) {
    drop_copies(&block->arrived);
}

bool emulator_in_kernel(void) {
    return engine.current != NULL;
}

void emulator_fence(EmulatorScope scope) {
    if (!engine.current) return;
    race_fence(scope);
    emulator_pause();
}

void emulator_check_alignment(const void *address, size_t alignment) {
    char what[ADDRESS_TEXT_MAX];
    if ((uintptr_t)address % alignment)
        fault_at("misaligned address", (EmulatorSite){0}, __builtin_return_address(0), "%s is no multiple of %zu",
                 address_describe(address, what), alignment);
}
