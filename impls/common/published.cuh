/* published.cuh - words of 8 bytes that a block publishes in global memory and others wait for. A word is its own flag: it is empty
 * while all its bits are one, which no published word has, so nothing needs to be ordered and no fence is needed. The words are
 * emptied before each launch, by cudaMemsetAsync with PUBLISHED_EMPTY_BYTE.
 *
 * Words that several SMs poll are in lines of their own: polls of a line that is being written cost each other time. */
#pragma once

#include "kernel.h"

#include <string.h>

enum { PUBLISHED_EMPTY_BYTE = 0xff };

/* Who has polled so often no longer waits. */
#ifdef RUNGS_EMULATED
constexpr unsigned PUBLISHED_POLLS_MAX = 1000; /* few blocks run at a time, in any order */
#else
constexpr unsigned PUBLISHED_POLLS_MAX = 100000; /* tens of milliseconds */
#endif

typedef unsigned long long PublishedWord;
constexpr PublishedWord PUBLISHED_NAN = 0x7ff8000000000000;
struct alignas(128) PublishedLine {
    PublishedWord words[16];
};

/* All bits one would be a NaN: then it is another NaN. */
static __device__ inline void publish(PublishedWord *word, PublishedWord bits) {
    *(volatile PublishedWord *)word = bits == ~(PublishedWord)0 ? PUBLISHED_NAN : bits;
}

/* Is it there by now? */
static __device__ inline bool published(const PublishedWord *word, PublishedWord *bits) {
    *bits = *(const volatile PublishedWord *)word;
    return *bits != ~(PublishedWord)0;
}

/* A number as a word. */
static __device__ inline void publish_number(PublishedWord *word, double number) {
    publish(word, (PublishedWord)__double_as_longlong(number));
}
static __device__ inline bool published_number(const PublishedWord *word, double *number) {
    PublishedWord bits;
    const bool ready = published(word, &bits);
    *number = __longlong_as_double((long long)bits);
    return ready;
}

/* A value of several words, `stride` apart. */
template <typename V> __device__ void publish_words(PublishedWord *to, size_t stride, const V &value) {
    PublishedWord words[sizeof(V) / sizeof(PublishedWord)];
    static_assert(sizeof words == sizeof value);
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (PublishedWord word : words) {
        publish(to, word);
        to += stride;
    }
}
template <typename V> __device__ bool published_words(const PublishedWord *from, size_t stride, V *value) {
    PublishedWord words[sizeof(V) / sizeof(PublishedWord)];
    bool ready = true;
#pragma unroll
    for (PublishedWord &word : words) {
        ready = published(from, &word) && ready;
        from += stride;
    }
    memcpy(value, words, sizeof words);
    return ready;
}
