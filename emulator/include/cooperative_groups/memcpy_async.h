/* cooperative_groups/memcpy_async.h - copies that the threads of a group share, for the emulator. */
#pragma once

#include <cooperative_groups.h>

namespace cooperative_groups {

/* Four bytes at a time by each thread in turn, as far as they go. end: the barrier that waits for them, or NULL. */
template <typename Group>
static inline void emulator_share_copy(const Group &group, void *to, const void *from, size_t bytes, const void *end,
                                       EmulatorSite site) {
    for (size_t at = 4 * (size_t)group.thread_rank(); at < bytes; at += 4 * (size_t)group.size()) {
        emulator_copy_start(static_cast<char *>(to) + at, static_cast<const char *>(from) + at, bytes - at < 4 ? bytes - at : 4, 0,
                            site);
        if (end) emulator_copy_bind(end);
    }
}
template <typename Group>
static inline void memcpy_async(const Group &group, void *to, const void *from, size_t bytes, EmulatorSite site = emulator_here()) {
    emulator_share_copy(group, to, from, bytes, nullptr, site);
    emulator_copy_commit();
}
template <unsigned groups, typename Group> static inline void wait_prior(const Group &group, EmulatorSite site = emulator_here()) {
    emulator_copy_wait(groups);
    group.sync(site);
}
template <typename Group> static inline void wait(const Group &group, EmulatorSite site = emulator_here()) {
    wait_prior<0>(group, site);
}

} // namespace cooperative_groups
