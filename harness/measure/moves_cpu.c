#include "measure/moves_cpu.h"

#include <string.h>
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
uint64_t move_read(const void *from, size_t bytes) {
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
