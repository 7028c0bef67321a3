#include "verify/exact.h"

#include "base/poison.h"

#include <stdint.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

static bool is_poison(const unsigned char *element, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (element[i] != POISON_BYTE) return false;
    return true;
}

/* Elements [begin, end) of both; only chunks that differ are looked at one by one. */
static ExactReport compare_part(const unsigned char *actual, const unsigned char *expected, size_t size, size_t begin, size_t end) {
    ExactReport part = {0};
    if (memcmp(actual + begin * size, expected + begin * size, (end - begin) * size) == 0) return part;
    for (size_t i = begin; i < end; i++) {
        if (memcmp(actual + i * size, expected + i * size, size) == 0) continue;
        if (part.mismatches++ == 0) part.first_mismatch = i;
        if (is_poison(actual + i * size, size) && part.unwritten++ == 0) part.first_unwritten = i;
    }
    return part;
}

static void combine(ExactReport *total, const ExactReport *part) {
    if (part->mismatches && (!total->mismatches || part->first_mismatch < total->first_mismatch))
        total->first_mismatch = part->first_mismatch;
    if (part->unwritten && (!total->unwritten || part->first_unwritten < total->first_unwritten))
        total->first_unwritten = part->first_unwritten;
    total->mismatches += part->mismatches;
    total->unwritten += part->unwritten;
}

void exact_compare(const Array *actual, const Array *expected, ExactReport *out) {
    const size_t size = dtype_size(expected->dtype), n = array_count(actual), m = array_count(expected);
    const size_t both = n < m ? n : m, chunk = CHUNK_BYTES / size, chunks = (both + chunk - 1) / chunk;
    ExactReport total = {.count = n, .expected_count = m};
#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < chunks; c++) {
        const size_t begin = c * chunk, end = both - begin < chunk ? both : begin + chunk;
        const ExactReport part = compare_part(actual->data, expected->data, size, begin, end);
        if (part.mismatches == 0) continue;
#pragma omp critical(exact_combine)
        combine(&total, &part);
    }
    if (n != m && total.mismatches == 0) total.first_mismatch = both;
    total.mismatches += n > m ? n - m : m - n;
    total.pass = actual->dtype == expected->dtype && n == m && total.mismatches == 0;
    *out = total;
}
