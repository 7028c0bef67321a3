#include "base/bytes.h"

#include "base/shares.h"

#include <stdatomic.h>
#include <string.h>

static const size_t SHARE_LEAST = (size_t)4 << 20;
enum { COMPARED_AT_ONCE = 1 << 18 };

typedef struct Written {
    unsigned char *to;
    const unsigned char *from; /* NULL: filled with `byte` */
    unsigned char byte;
} Written;

static void write_share(void *context, size_t begin, size_t end) {
    const Written *bytes = context;
    if (bytes->from)
        memcpy(bytes->to + begin, bytes->from + begin, end - begin);
    else
        memset(bytes->to + begin, bytes->byte, end - begin);
}

void bytes_copy(void *to, const void *from, size_t count) {
    shares_run(count, SHARE_LEAST, write_share, &(Written){.to = to, .from = from});
}

void bytes_fill(void *to, unsigned char byte, size_t count) {
    shares_run(count, SHARE_LEAST, write_share, &(Written){.to = to, .byte = byte});
}

typedef struct Comparison {
    const unsigned char *a, *b;
    _Atomic size_t first; /* differing byte found so far; at first `count` */
} Comparison;

static void keep_least(_Atomic size_t *least, size_t value) {
    for (size_t now = *least; value < now && !atomic_compare_exchange_weak(least, &now, value);) {}
}

static void compare_share(void *context, size_t begin, size_t end) {
    Comparison *self = context;
    for (size_t at = begin; at < end && at < self->first; at += COMPARED_AT_ONCE) {
        const size_t length = end - at < COMPARED_AT_ONCE ? end - at : COMPARED_AT_ONCE;
        if (memcmp(self->a + at, self->b + at, length) == 0) continue;
        while (self->a[at] == self->b[at]) at++;
        keep_least(&self->first, at);
        return;
    }
}

size_t bytes_first_difference(const void *a, const void *b, size_t count) {
    Comparison self = {.a = a, .b = b, .first = count};
    shares_run(count, SHARE_LEAST, compare_share, &self);
    return self.first;
}
