#include "base/launches.h"

static Launches sums;

void launches_add(const unsigned grid[3], const unsigned block[3], size_t shared_bytes) {
    const double blocks = (double)grid[0] * grid[1] * grid[2];
    sums.launches++;
    sums.blocks += blocks;
    sums.threads += blocks * block[0] * block[1] * block[2];
    sums.shared_bytes += (double)shared_bytes;
}

Launches launches_take(void) {
    const Launches taken = sums;
    sums = (Launches){0};
    return taken;
}
