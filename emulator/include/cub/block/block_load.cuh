/* Stand-ins for CUB's BlockLoad and BlockStore in the emulator: each thread's ITEMS lie side by side, or, striped, a block apart.
 */
#pragma once

#include "emulator/cuda.h"

namespace cub {

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <int ITEMS, int BLOCK_X, int BLOCK_Y, int BLOCK_Z, bool STRIPED, bool WAITS> class EmulatedBlockItems {
  public:
    struct TempStorage {};

    EmulatedBlockItems() = default;
    __device__ explicit EmulatedBlockItems(TempStorage &) {}

  protected:
    __device__ static int place(int item) {
        const int thread = (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x;
        return STRIPED ? item * BLOCK_X * BLOCK_Y * BLOCK_Z + thread : thread * ITEMS + item;
    }
    __device__ static void wait() {
        if (WAITS) __syncthreads();
    }
};

template <typename T, int BLOCK_X, int ITEMS, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int BLOCK_Y = 1, int BLOCK_Z = 1>
struct BlockLoad
    : EmulatedBlockItems<ITEMS, BLOCK_X, BLOCK_Y, BLOCK_Z, ALGORITHM == BLOCK_LOAD_STRIPED, ALGORITHM == BLOCK_LOAD_TRANSPOSE> {
    using BlockLoad::EmulatedBlockItems::EmulatedBlockItems;

    template <typename From> __device__ void Load(From from, T (&items)[ITEMS]) {
        Load(from, items, ITEMS * BLOCK_X * BLOCK_Y * BLOCK_Z);
    }
    template <typename From> __device__ void Load(From from, T (&items)[ITEMS], int valid) {
        for (int i = 0; i < ITEMS; i++)
            if (this->place(i) < valid) items[i] = from[this->place(i)];
        this->wait();
    }
    template <typename From, typename Other> __device__ void Load(From from, T (&items)[ITEMS], int valid, Other other) {
        for (T &item : items) item = other;
        Load(from, items, valid);
    }
};

template <typename T, int BLOCK_X, int ITEMS, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int BLOCK_Y = 1, int BLOCK_Z = 1>
struct BlockStore
    : EmulatedBlockItems<ITEMS, BLOCK_X, BLOCK_Y, BLOCK_Z, ALGORITHM == BLOCK_STORE_STRIPED, ALGORITHM == BLOCK_STORE_TRANSPOSE> {
    using BlockStore::EmulatedBlockItems::EmulatedBlockItems;

    template <typename To> __device__ void Store(To to, T (&items)[ITEMS]) {
        Store(to, items, ITEMS * BLOCK_X * BLOCK_Y * BLOCK_Z);
    }
    template <typename To> __device__ void Store(To to, T (&items)[ITEMS], int valid) {
        this->wait();
        for (int i = 0; i < ITEMS; i++)
            if (this->place(i) < valid) to[this->place(i)] = items[i];
    }
};

} // namespace cub
