/* How often NVTX is called for a thousand ranges. */
#include "base/ranges.h"

#include <stdio.h>

int counted_domains, counted_pushes, counted_pops;

int main(void) {
    for (int i = 0; i < 1000; i++) {
        ranges_begin("sample", "cold");
        ranges_end();
    }
    printf("domains=%d pushes=%d pops=%d\n", counted_domains, counted_pushes, counted_pops);
    return 0;
}
