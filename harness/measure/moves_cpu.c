#include "measure/moves_cpu.h"

#include "base/memory.h"
#include "base/shares.h"

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WORDS = MOVE_LINE / sizeof(uint64_t) }; /* of a line */

static void copy_library(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static void write_library(void *to, size_t bytes) {
    memset(to, 0x3c, bytes);
}

/* The barrier keeps the compiler from turning these loops back into memcpy and memset, which choose their stores themselves. */
static void copy_plain(void *to, const void *from, size_t bytes) {
    const uint64_t *restrict source = from;
    uint64_t *restrict target = to;
    for (size_t line = 0; line < bytes / MOVE_LINE; line++) {
        for (size_t j = 0; j < WORDS; j++) target[line * WORDS + j] = source[line * WORDS + j];
        __asm__ volatile("" ::: "memory");
    }
}

static void write_plain(void *to, size_t bytes) {
    uint64_t *target = to;
    for (size_t line = 0; line < bytes / MOVE_LINE; line++) {
        for (size_t j = 0; j < WORDS; j++) target[line * WORDS + j] = 0x3c3c3c3c;
        __asm__ volatile("" ::: "memory");
    }
}

#ifdef __SSE2__
static void copy_streaming(void *to, const void *from, size_t bytes) {
    const __m128i *source = from;
    __m128i *target = to;
    for (size_t i = 0; i < bytes / MOVE_LINE * MOVE_LINE / sizeof *source; i++)
        _mm_stream_si128(target + i, _mm_load_si128(source + i));
    _mm_sfence();
}

static void write_streaming(void *to, size_t bytes) {
    const __m128i value = _mm_set1_epi8(0x3c);
    __m128i *target = to;
    for (size_t i = 0; i < bytes / MOVE_LINE * MOVE_LINE / sizeof *target; i++) _mm_stream_si128(target + i, value);
    _mm_sfence();
}
#endif

const MoveWay MOVE_WAYS[] = {{"memcpy, memset", copy_library, write_library},
                             {"ordinary stores", copy_plain, write_plain},
#ifdef __SSE2__
                             {"non-temporal stores", copy_streaming, write_streaming}
#endif
};
const int MOVE_WAY_COUNT = sizeof MOVE_WAYS / sizeof *MOVE_WAYS;

/* As wide as this machine's registers: of wider ones the compiler keeps the sums in memory. */
enum { VECTOR_BYTES = __BIGGEST_ALIGNMENT__ < MOVE_LINE ? __BIGGEST_ALIGNMENT__ : MOVE_LINE };
typedef uint64_t Vector __attribute__((vector_size(VECTOR_BYTES)));
enum { LANES = VECTOR_BYTES / sizeof(uint64_t), LINE_VECTORS = MOVE_LINE / VECTOR_BYTES };

/* Four sums: an array of them would be cleared and added up in memory, which takes as long as to read a kilobyte. */
static uint64_t read_lines(const void *from, size_t bytes) {
    Vector a = {0}, b = a, c = a, d = a;
    const Vector *words = from;
    const size_t vectors = bytes / MOVE_LINE * LINE_VECTORS;
    size_t i = 0;
    for (; i + 4 <= vectors; i += 4) a |= words[i], b |= words[i + 1], c |= words[i + 2], d |= words[i + 3];
    for (; i < vectors; i++) a |= words[i];
    a |= b, c |= d, a |= c;
    uint64_t total = 0;
    for (int lane = 0; lane < LANES; lane++) total |= a[lane];
    return total;
}

/* Share `part` of `parts`, which begins at a line. */
static uint64_t move_share(const MoveArrays *arrays, const MoveWay *way, size_t part, size_t parts) {
    const size_t read = arrays->read, written = arrays->written, both = read < written ? read : written;
    const size_t rest = (both + MOVE_LINE - 1) / MOVE_LINE * MOVE_LINE, more = (read > written ? read : written) - both;
    const size_t lines = both / MOVE_LINE, begin = lines * part / parts * MOVE_LINE;
    const size_t end = part + 1 == parts ? both : lines * (part + 1) / parts * MOVE_LINE;
    if (end > begin) way->copy(arrays->to + begin, arrays->from + begin, end - begin);
    const size_t more_lines = more / MOVE_LINE, more_begin = more_lines * part / parts * MOVE_LINE;
    const size_t more_end = part + 1 == parts ? more : more_lines * (part + 1) / parts * MOVE_LINE;
    if (more_end == more_begin) return 0;
    if (read > written) return read_lines(arrays->from + rest + more_begin, more_end - more_begin);
    way->write(arrays->to + rest + more_begin, more_end - more_begin);
    return 0;
}

static uint64_t move_by_team(const MoveArrays *arrays, const MoveWay *way, int threads) {
    uint64_t kept = 0;
#pragma omp parallel num_threads(threads) reduction(| : kept)
    kept |= move_share(arrays, way, (size_t)omp_get_thread_num(), (size_t)omp_get_num_threads());
    return kept;
}

/* As lean as a call can be: in the first-level cache it is some tens of nanoseconds. */
uint64_t move_arrays(const MoveArrays *arrays, const MoveWay *way, int threads) {
    return threads == 1 ? move_share(arrays, way, 0, 1) : move_by_team(arrays, way, threads);
}

/* ---- Caches. */

static const size_t GUESS_BYTES = (size_t)32 << 20;
enum { LEVEL_INDICES = 6 };

static bool read_word(long cpu, int index, const char *what, const char *format, void *value) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%d/%s", cpu, index, what);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool read = fscanf(file, format, value) == 1;
    fclose(file);
    return read;
}

/* Bytes of cache `index` of `cpu`, if this is the first CPU that shares it and it is not a first-level cache. */
static size_t owned_bytes(long cpu, int index) {
    int level = 0;
    long first_sharer = -1;
    size_t kib = 0;
    if (!read_word(cpu, index, "level", "%d", &level) || level < 2) return 0;
    if (!read_word(cpu, index, "shared_cpu_list", "%ld", &first_sharer) || first_sharer != cpu) return 0;
    return read_word(cpu, index, "size", "%zuK", &kib) ? kib * 1024 : 0;
}

size_t cache_bytes_total(void) {
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    size_t total = 0;
    for (long cpu = 0; cpu < cpus; cpu++)
        for (int index = 0; index < LEVEL_INDICES; index++) total += owned_bytes(cpu, index);
    return total ? total : GUESS_BYTES;
}

size_t cache_sweep_bytes(void) {
    return 2 * cache_bytes_total();
}

static void fill(void *words, size_t begin, size_t end) {
    uint64_t *word = words;
    for (size_t i = begin; i < end; i++) word[i] = i;
}

uint64_t *cache_sweep_open(size_t *words) {
    uint64_t *sweep = hostmemory_allocate(cache_sweep_bytes());
    *words = sweep ? cache_sweep_bytes() / sizeof *sweep : 0;
    if (sweep) shares_run(*words, 1, fill, sweep);
    return sweep;
}

typedef struct Sweep {
    const uint64_t *words;
    uint64_t sum;
} Sweep;

static void sweep(void *context, size_t begin, size_t end) {
    Sweep *self = context;
    uint64_t sum = 0;
    for (size_t i = begin; i < end; i++) sum += self->words[i];
    __atomic_fetch_add(&self->sum, sum, __ATOMIC_RELAXED);
}

Status cache_sweep(const uint64_t *words, size_t count) {
    Sweep all = {.words = words};
    shares_run(count, 1, sweep, &all);
    if (all.sum == (uint64_t)count * (count - 1) / 2) return STATUS_OK;
    return status_fail(STATUS_CHECK, "the memory that empties the caches before a cold sample was changed");
}
