#include "base/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

enum { ITEMS_MAX = 1000 };

typedef struct Seen {
    unsigned char times[ITEMS_MAX];
    atomic_size_t shares, smallest;
} Seen;

static void see(void *context, size_t begin, size_t end) {
    Seen *seen = context;
    for (size_t i = begin; i < end; i++) seen->times[i]++;
    atomic_fetch_add(&seen->shares, 1);
    size_t least = atomic_load(&seen->smallest);
    while (end - begin < least && !atomic_compare_exchange_weak(&seen->smallest, &least, end - begin)) continue;
}

static void each_item_is_in_one_share(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, 65, 999, ITEMS_MAX};
    for (int threads = 1; threads <= 9; threads += 4) {
        omp_set_num_threads(threads);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t least = 0; least <= 64; least += 16) {
                Seen seen = {.smallest = ITEMS_MAX};
                shares_run(counts[c], least, see, &seen);
                for (size_t i = 0; i < ITEMS_MAX; i++) assert_int_equal(seen.times[i], i < counts[c]);
                const size_t most = counts[c] < (size_t)threads ? counts[c] : (size_t)threads;
                assert_in_range(atomic_load(&seen.shares), counts[c] ? 1 : 0, most);
                if (least == 0) assert_int_equal(atomic_load(&seen.shares), most);
                if (counts[c] >= least && counts[c] > 0) assert_true(atomic_load(&seen.smallest) >= least);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_item_is_in_one_share)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
