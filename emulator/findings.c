/* What the race detector found, each once, up to ten: the run goes on after a race, so that one does not hide another. */
#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/race.h"

#include <stdio.h>
#include <string.h>

enum { PAIRS_MAX = 512, LINE_MAX = 512, MESSAGE_MAX = ADDRESS_TEXT_MAX + 2 * LINE_MAX + 512 };

/* Who else could have come first: two places in the source, in either order. */
typedef struct Pair {
    uint32_t one, other;
} Pair;

typedef struct PairSet {
    Pair pairs[PAIRS_MAX];
    int count;
} PairSet;

static PairSet races, same_values;

/* Two instructions of one line are one place: the first stands for all. */
static uint32_t line_of(uint32_t place) {
    static struct {
        uint32_t place, first;
        char line[LINE_MAX];
    } known[PAIRS_MAX];
    static int count;
    for (int i = 0; i < count; i++)
        if (known[i].place == place) return known[i].first;
    if (count == PAIRS_MAX) return place;
    known[count].place = known[count].first = place;
    place_text(place, known[count].line, LINE_MAX);
    for (int i = 0; i < count && known[count].line[0] != '?'; i++)
        if (strcmp(known[i].line, known[count].line) == 0) known[count].first = known[i].first;
    return known[count++].first;
}

static bool holds(const PairSet *set, Pair pair) {
    for (int i = 0; i < set->count; i++)
        if ((set->pairs[i].one == pair.one && set->pairs[i].other == pair.other) ||
            (set->pairs[i].one == pair.other && set->pairs[i].other == pair.one))
            return true;
    return false;
}

/* Is this a pair of lines that the set did not have? A full set has them all. */
static bool add(PairSet *set, const Access *mine, const Access *other) {
    const Pair places = {mine->place, other->place};
    if (holds(set, places) || set->count + 2 > PAIRS_MAX) return false;
    const Pair lines = {line_of(places.one), line_of(places.other)};
    const bool fresh = !holds(set, lines);
    set->pairs[set->count++] = places;
    if (fresh) set->pairs[set->count++] = lines;
    return fresh;
}

/* Reads of bytes that were never written. Noted when they happen and reported only when the block (for shared memory) or the kernel
 * has ended: by then, if the writer was merely late, the write has shown itself as a data race, which is the better report. */
typedef struct Unwritten {
    enum { PENDING, DONE } state;
    bool in_shared;
    uint64_t block;
    uint32_t place;
    char text[MESSAGE_MAX];
} Unwritten;

static Unwritten unwritten[FAULTS_MAX];
static int unwritten_count;

void finding_unwritten(Access mine, const void *address, size_t bytes) {
    if (!emulator_settings.uninitialised || unwritten_count == FAULTS_MAX) return;
    for (int i = 0; i < unwritten_count; i++)
        if (unwritten[i].place == mine.place) return;
    char what[ADDRESS_TEXT_MAX], where[LINE_MAX], thread[PLACE_MAX], block[PLACE_MAX];
    const Fiber *self = engine.current;
    Unwritten *note = &unwritten[unwritten_count++];
    *note = (Unwritten){.state = PENDING, .in_shared = !arena_contains(address), .block = self->block->linear, .place = mine.place};
    snprintf(note->text, sizeof note->text, "thread %s of block %s read %zu bytes at %s that were not all written before, at %s",
             fault_thread_text(self->index, thread), fault_thread_text(self->block->index, block), bytes,
             address_describe(address, what), place_text(mine.place, where, sizeof where));
}

static void report_unwritten(Unwritten *note) {
    Fiber *const self = engine.current;
    note->state = DONE;
    engine.current = NULL; /* the last thread that ended is not the cause */
    if (emulator_settings.uninitialised == CLASS_ERROR)
        fault_more("uninitialised read", NULL, "%s", note->text);
    else
        fault_announce("note: uninitialised read", NULL, "%s", note->text);
    engine.current = self;
}

void findings_block_finish(const Block *block) {
    findings_settle();
    for (int i = 0; i < unwritten_count; i++)
        if (unwritten[i].state == PENDING && unwritten[i].in_shared && unwritten[i].block == block->linear)
            report_unwritten(&unwritten[i]);
}

/* Reading too early is what a race may look like. */
static void explain_unwritten(const Access *mine, const Access *other) {
    for (int i = 0; i < unwritten_count; i++)
        if (unwritten[i].place == mine->place || unwritten[i].place == other->place) unwritten[i].state = DONE;
}

const char *race_pending_note(void) {
    for (int i = 0; i < unwritten_count; i++)
        if (unwritten[i].state == PENDING) return unwritten[i].text;
    return NULL;
}

static const char *verb(unsigned flags) {
    static const char *const VERBS[] = {"reads", "writes", "reads atomically", "writes atomically"};
    if (flags & ACCESS_ASYNC) return flags & ACCESS_WRITES ? "writes by an asynchronous copy" : "reads by an asynchronous copy";
    return VERBS[flags & (ACCESS_WRITES | ACCESS_ATOMIC)];
}

/* "thread (1,0,0) of block (2,0,0) writes at k.cu:12" */
static const char *describe_access(const Access *access, char *text, size_t size) {
    char where[LINE_MAX], thread_text[PLACE_MAX], block_text[PLACE_MAX];
    const unsigned *shape = engine.launch->block, *grid = engine.launch->grid;
    const unsigned thread[3] = {access->thread % shape[0], access->thread / shape[0] % shape[1],
                                access->thread / shape[0] / shape[1]};
    const unsigned block[3] = {access->block % grid[0], access->block / grid[0] % grid[1], access->block / grid[0] / grid[1]};
    snprintf(text, size, "thread %s of block %s %s at %s", fault_thread_text(thread, thread_text),
             fault_thread_text(block, block_text), verb(access->flags), place_text(access->place, where, sizeof where));
    return text;
}

static const char *missing(const Access *mine, const Access *other) {
    const bool same_block = other->block == mine->block;
    if ((mine->flags | other->flags) & ACCESS_ASYNC)
        return "missing: a wait of the copying thread for its copy, and then a barrier if another thread is meant";
    if ((mine->flags ^ other->flags) & ACCESS_ATOMIC) return "missing: a barrier; or make both atomic";
    if (mine->flags & ACCESS_ATOMIC) return "missing: a wider scope than _block in both";
    if (same_block && other->thread / WARP_LANES == mine->thread / WARP_LANES) return "missing: __syncwarp() or __syncthreads()";
    if (same_block) return "missing: __syncthreads()";
    return "missing: __threadfence() between the data and the atomic or volatile flag, on both sides; or atomics";
}

static void report_race(const Access *mine, const Access *other, const void *address, size_t bytes) {
    char what[ADDRESS_TEXT_MAX], where[LINE_MAX], second[LINE_MAX + 2 * PLACE_MAX];
    explain_unwritten(mine, other);
    if (!add(&races, mine, other)) return;
    fault_more("data race", place_text(mine->place, where, sizeof where),
               "this thread %s %zu bytes at %s, which %s, and nothing orders the two (%s)", verb(mine->flags), bytes,
               address_describe(address, what), describe_access(other, second, sizeof second), missing(mine, other));
}

/* Two unordered writes of one value are harmless on the hardware of today: a class of their own, reported when the kernel has
 * ended. */
static char same_value_texts[FAULTS_MAX][MESSAGE_MAX];
static int same_value_count;

static void note_same_value(const Access *mine, const Access *other, const void *address, size_t bytes) {
    char what[ADDRESS_TEXT_MAX], first[LINE_MAX + 2 * PLACE_MAX], second[LINE_MAX + 2 * PLACE_MAX];
    if (same_value_count == FAULTS_MAX || emulator_settings.same_value == CLASS_SILENT) return;
    if (!add(&same_values, mine, other)) return;
    snprintf(same_value_texts[same_value_count++], MESSAGE_MAX,
             "%s what %s, the same %zu bytes at %s, and nothing orders the two (%s)", describe_access(mine, first, sizeof first),
             describe_access(other, second, sizeof second), bytes, address_describe(address, what), missing(mine, other));
}

static void report_same_values(void) {
    for (int i = 0; i < same_value_count; i++)
        if (emulator_settings.same_value == CLASS_ERROR)
            fault_more("same-value race", NULL, "%s", same_value_texts[i]);
        else
            fault_announce("note: same-value race", NULL, "%s", same_value_texts[i]);
    same_value_count = 0;
}

/* A write that meets another's: whether it stores what was there shows when the thread has gone on. */
bool findings_open;
static struct {
    Access mine, other;
    const void *address;
    size_t bytes;
    unsigned char before[16];
} doubtful;

void findings_decide(void) {
    findings_open = false;
    const bool same = memcmp(doubtful.before, doubtful.address, doubtful.bytes) == 0;
    (same ? note_same_value : report_race)(&doubtful.mine, &doubtful.other, doubtful.address, doubtful.bytes);
}

void finding_race(Access mine, Access other, const void *address, size_t bytes) {
    if (findings_open || holds(&races, (Pair){mine.place, other.place})) return;
    const bool two_writes =
        mine.flags & other.flags & ACCESS_WRITES && !((mine.flags | other.flags) & (ACCESS_ATOMIC | ACCESS_ASYNC));
    if (!two_writes || bytes > sizeof doubtful.before) {
        report_race(&mine, &other, address, bytes);
        return;
    }
    findings_open = true;
    doubtful.mine = mine;
    doubtful.other = other;
    doubtful.address = address;
    doubtful.bytes = bytes;
    memcpy(doubtful.before, address, bytes);
}

void findings_launch_finish(void) {
    findings_settle();
    for (int i = 0; i < unwritten_count; i++)
        if (unwritten[i].state == PENDING) report_unwritten(&unwritten[i]);
    report_same_values();
}
