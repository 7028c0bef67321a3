/* CUB's block primitives against plain loops; exit code 0 if all is right. */
#include <cub/block/block_store.cuh>
#include <cub/cub.cuh>

static constexpr int THREADS = 64, ITEMS = 3, ALL = THREADS * ITEMS, VALID = ALL - 5;

template <cub::BlockLoadAlgorithm LOAD, cub::BlockStoreAlgorithm STORE> __global__ void doubled(const int *x, int *y, int valid) {
    using Load = cub::BlockLoad<int, THREADS, ITEMS, LOAD>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, STORE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } memory;
    int items[ITEMS];
    Load(memory.load).Load(x, items, valid, -7);
    for (int &item : items) item *= 2;
    __syncthreads();
    Store(memory.store).Store(y, items);
}

__global__ void differences(const int *x, int *left, int *right) {
    using Differences = cub::BlockAdjacentDifference<int, THREADS>;
    __shared__ Differences::TempStorage memory;
    int items[ITEMS], out[ITEMS];
    cub::BlockLoad<int, THREADS, ITEMS>().Load(x, items);
    const auto minus = [](int a, int b) { return a - b; };
    Differences(memory).SubtractLeft(items, out, minus, 1000);
    cub::BlockStore<int, THREADS, ITEMS>().Store(left, out);
    __syncthreads();
    Differences(memory).SubtractRight(items, items, minus);
    cub::BlockStore<int, THREADS, ITEMS>().Store(right, items, VALID);
}

__global__ void extremes(const int *x, int *keys) {
    using Pair = cub::KeyValuePair<int, int>;
    using Reduce = cub::BlockReduce<Pair, THREADS>;
    __shared__ Reduce::TempStorage memory;
    const Pair own = {(int)threadIdx.x, x[threadIdx.x] % 10};
    const Pair most = Reduce(memory).Reduce(own, cub::ArgMax());
    __syncthreads();
    const Pair least = Reduce(memory).Reduce(own, cub::ArgMin());
    if (threadIdx.x == 0) keys[0] = most.key, keys[1] = least.key;
}

int main() {
    int *x, *y, *z;
    cudaMallocManaged(&x, ALL * sizeof *x);
    cudaMallocManaged(&y, ALL * sizeof *y);
    cudaMallocManaged(&z, ALL * sizeof *z);
    for (int i = 0; i < ALL; i++) x[i] = i * i % 97 + 3, z[i] = 0;
    for (int way = 0; way < 3; way++) {
        if (way == 0) doubled<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_VECTORIZE><<<1, THREADS>>>(x, y, VALID);
        if (way == 1) doubled<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED><<<1, THREADS>>>(x, y, VALID);
        if (way == 2) doubled<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE><<<1, THREADS>>>(x, y, VALID);
        cudaDeviceSynchronize();
        for (int i = 0; i < ALL; i++)
            if (y[i] != 2 * (i < VALID ? x[i] : -7)) return 1 + way;
    }
    differences<<<1, THREADS>>>(x, y, z);
    cudaDeviceSynchronize();
    for (int i = 0; i < ALL; i++) {
        if (y[i] != x[i] - (i > 0 ? x[i - 1] : 1000)) return 4;
        if (z[i] != (i >= VALID ? 0 : x[i] - x[i + 1])) return 5;
    }
    extremes<<<1, THREADS>>>(x, y);
    cudaDeviceSynchronize();
    int most = 0, least = 0;
    for (int i = 1; i < THREADS; i++) {
        if (x[i] % 10 > x[most] % 10) most = i;
        if (x[i] % 10 < x[least] % 10) least = i;
    }
    return y[0] == most && y[1] == least ? 0 : 6;
}
