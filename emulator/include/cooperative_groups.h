/* cooperative_groups.h - blocks, grids, tiles of a warp and coalesced threads, for the emulator. */
#pragma once

#include "emulator/cuda.h"

#include <stdint.h>
#include <string.h>

namespace cooperative_groups {

/* Values of any size go between lanes word by word. */
template <typename T>
static inline T emulator_exchange(EmulatorWarpOp op, unsigned mask, T value, unsigned operand, unsigned width, EmulatorSite site) {
    uint64_t words[(sizeof(T) + 7) / 8] = {};
    memcpy(words, &value, sizeof value);
    for (uint64_t &word : words) word = emulator_warp(op, mask, word, operand, width, site);
    memcpy(static_cast<void *>(&value), words, sizeof value);
    return value;
}

static inline unsigned emulator_thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
static inline unsigned emulator_block_threads() {
    return blockDim.x * blockDim.y * blockDim.z;
}
/* Of `size` lanes from `first` on, those that the block has. */
static inline unsigned emulator_lanes_from(unsigned first, unsigned size) {
    const unsigned left = emulator_block_threads() - emulator_thread_rank() / 32 * 32;
    const uint64_t there = left >= 32 ? 0xffffffffu : (1u << left) - 1;
    return (unsigned)((((uint64_t)1 << size) - 1) << first & there);
}

/* lanes 0: the whole block. */
class thread_group {
  public:
    typedef unsigned rank_type;
    thread_group(unsigned lanes, unsigned count, unsigned rank) : lanes_(lanes), count_(count), rank_(rank) {}
    unsigned size() const { return count_; }
    unsigned num_threads() const { return count_; }
    unsigned thread_rank() const { return rank_; }
    bool is_valid() const { return true; }
    unsigned emulator_mask() const { return lanes_; }
    void sync(EmulatorSite site = emulator_here()) const {
        if (lanes_)
            __syncwarp(lanes_, site);
        else
            __syncthreads(site);
    }

  protected:
    unsigned lanes_, count_, rank_;
};

class thread_block : public thread_group {
  public:
    thread_block() : thread_group(0, emulator_block_threads(), emulator_thread_rank()) {}
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
static inline thread_block this_thread_block() {
    return thread_block();
}

class grid_group {
  public:
    bool is_valid() const { return emulator_grid_barrier() != nullptr; }
    unsigned long long num_blocks() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    unsigned long long block_rank() const {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    unsigned long long size() const { return num_blocks() * emulator_block_threads(); }
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const { return block_rank() * emulator_block_threads() + emulator_thread_rank(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return thread_block::group_index(); }
    /* Arrivals are counted; each round ends at a multiple of the number of blocks. */
    void sync(EmulatorSite site = emulator_here()) const {
        unsigned *arrived = emulator_grid_barrier();
        if (!arrived) emulator_trap("grid.sync() in a launch that is not cooperative", site);
        __syncthreads(site);
        if (emulator_thread_rank() == 0) {
            const unsigned blocks = (unsigned)num_blocks();
            __threadfence();
            const unsigned end = (atomicAdd(arrived, 1u, site) / blocks + 1) * blocks;
            while (atomicAdd(arrived, 0u, site) < end) emulator_pause();
            __threadfence();
        }
        __syncthreads(site);
    }
};
static inline grid_group this_grid() {
    return grid_group();
}

/* What tiles and coalesced threads have in common: lanes of one warp, numbered from the lowest. */
class emulator_lanes_group : public thread_group {
  public:
    explicit emulator_lanes_group(unsigned lanes)
        : thread_group(lanes, (unsigned)__builtin_popcount(lanes),
                       (unsigned)__builtin_popcount(lanes & ((1u << emulator_lane()) - 1))) {}
    template <typename T> T shfl(T value, int rank, EmulatorSite site = emulator_here()) const {
        return emulator_exchange(WARP_SHUFFLE, lanes_, value, lane_of((unsigned)rank), 32, site);
    }
    template <typename T> T shfl_up(T value, unsigned delta, EmulatorSite site = emulator_here()) const {
        return shfl(value, (int)(rank_ >= delta ? rank_ - delta : rank_), site);
    }
    template <typename T> T shfl_down(T value, unsigned delta, EmulatorSite site = emulator_here()) const {
        return shfl(value, (int)(rank_ + delta < count_ ? rank_ + delta : rank_), site);
    }
    template <typename T> T shfl_xor(T value, unsigned other, EmulatorSite site = emulator_here()) const {
        return shfl(value, (int)((rank_ ^ other) < count_ ? rank_ ^ other : rank_), site);
    }
    int any(int predicate, EmulatorSite site = emulator_here()) const { return __any_sync(lanes_, predicate, site); }
    int all(int predicate, EmulatorSite site = emulator_here()) const { return __all_sync(lanes_, predicate, site); }
    unsigned ballot(int predicate, EmulatorSite site = emulator_here()) const {
        return packed(__ballot_sync(lanes_, predicate, site));
    }
    template <typename T> unsigned emulator_with(T value, EmulatorSite site) const { return __match_any_sync(lanes_, value, site); }
    template <typename T> unsigned match_any(T value, EmulatorSite site = emulator_here()) const {
        return packed(__match_any_sync(lanes_, value, site));
    }

  private:
    unsigned lane_of(unsigned rank) const {
        unsigned left = lanes_;
        while (rank-- > 0 && (left & (left - 1))) left &= left - 1;
        return (unsigned)__builtin_ctz(left);
    }
    /* Bits of lanes as bits of ranks. */
    unsigned packed(unsigned lanes) const {
        unsigned result = 0, rank = 0;
        for (unsigned left = lanes_; left; left &= left - 1, rank++) result |= (lanes >> __builtin_ctz(left) & 1) << rank;
        return result;
    }
};

class coalesced_group : public emulator_lanes_group {
  public:
    explicit coalesced_group(unsigned lanes) : emulator_lanes_group(lanes) {}
    unsigned meta_group_size() const { return 1; }
    unsigned meta_group_rank() const { return 0; }
};
/* Which threads run together is the hardware's choice: here each runs alone. */
static inline coalesced_group coalesced_threads() {
    return coalesced_group(__activemask());
}

/* Those of a group with one label. */
template <typename Label> static inline coalesced_group labeled_partition(const emulator_lanes_group &group, Label label) {
    return coalesced_group(group.emulator_with(label, emulator_here()));
}
static inline coalesced_group binary_partition(const emulator_lanes_group &group, bool label) {
    return labeled_partition(group, (int)label);
}

template <unsigned Size, typename Parent = void> class thread_block_tile : public emulator_lanes_group {
    static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "tiles of more than a warp are not emulated");
    unsigned meta_rank_, meta_size_;

  public:
    thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : emulator_lanes_group(emulator_lanes_from(emulator_lane() / Size * Size, Size)), meta_rank_(meta_rank),
          meta_size_(meta_size) {}
    template <typename Other>
    thread_block_tile(const thread_block_tile<Size, Other> &other)
        : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }
};

template <unsigned Size> static inline thread_block_tile<Size, thread_block> tiled_partition(const thread_block &block) {
    return thread_block_tile<Size, thread_block>(block.thread_rank() / Size, (block.size() + Size - 1) / Size);
}
template <unsigned Size, unsigned Whole, typename Parent>
static inline thread_block_tile<Size, thread_block_tile<Whole, Parent>>
tiled_partition(const thread_block_tile<Whole, Parent> &tile) {
    return thread_block_tile<Size, thread_block_tile<Whole, Parent>>(tile.thread_rank() / Size, Whole / Size);
}
static inline thread_group tiled_partition(const thread_group &group, unsigned size) {
    const unsigned first = emulator_lane() / size * size, lanes = emulator_lanes_from(first, size);
    (void)group;
    return thread_group(lanes, (unsigned)__builtin_popcount(lanes), emulator_lane() - first);
}

template <typename Group> static inline void sync(const Group &group, EmulatorSite site = emulator_here()) {
    group.sync(site);
}

template <typename T = void> struct plus {
    template <typename V> V operator()(const V &a, const V &b) const { return a + b; }
};
template <typename T = void> struct less {
    template <typename V> V operator()(const V &a, const V &b) const { return b < a ? b : a; }
};
template <typename T = void> struct greater {
    template <typename V> V operator()(const V &a, const V &b) const { return a < b ? b : a; }
};
template <typename T = void> struct bit_and {
    template <typename V> V operator()(const V &a, const V &b) const { return a & b; }
};
template <typename T = void> struct bit_or {
    template <typename V> V operator()(const V &a, const V &b) const { return a | b; }
};
template <typename T = void> struct bit_xor {
    template <typename V> V operator()(const V &a, const V &b) const { return a ^ b; }
};

/* As a tree, whose order does not depend on who runs first. */
template <typename Group, typename T, typename Op>
static inline T reduce(const Group &group, T value, Op op, EmulatorSite site = emulator_here()) {
    const unsigned count = (unsigned)__builtin_popcount(group.emulator_mask());
    for (unsigned step = 1; step < count; step *= 2) {
        const T other = group.shfl_down(value, step, site);
        if (group.thread_rank() % (2 * step) == 0 && group.thread_rank() + step < count) value = op(value, other);
    }
    return group.shfl(value, 0, site);
}
template <typename Group, typename T, typename Op>
static inline T inclusive_scan(const Group &group, T value, Op op, EmulatorSite site = emulator_here()) {
    for (unsigned step = 1; step < group.size(); step *= 2) {
        const T other = group.shfl_up(value, step, site);
        if (group.thread_rank() >= step) value = op(other, value);
    }
    return value;
}
template <typename Group, typename T>
static inline T inclusive_scan(const Group &group, T value, EmulatorSite site = emulator_here()) {
    return inclusive_scan(group, value, plus<T>(), site);
}
template <typename Group, typename T, typename Op>
static inline T exclusive_scan(const Group &group, T value, Op op, EmulatorSite site = emulator_here()) {
    const T before = group.shfl_up(inclusive_scan(group, value, op, site), 1, site);
    return group.thread_rank() == 0 ? T() : before;
}
template <typename Group, typename T>
static inline T exclusive_scan(const Group &group, T value, EmulatorSite site = emulator_here()) {
    return exclusive_scan(group, value, plus<T>(), site);
}

} // namespace cooperative_groups
