// Cooperative groups, shuffles without _sync, half precision, occupancy, properties.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

#include <cstdio>

namespace cg = cooperative_groups;

__device__ int total;

__global__ void sum(int *out, int *per_warp) {
    const cg::grid_group grid = cg::this_grid();
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    const int part = cg::reduce(warp, (int)grid.thread_rank(), cg::plus<int>());
    int again = (int)grid.thread_rank();
    for (int step = 16; step > 0; step /= 2) again += __shfl_down(again, step);
    if (warp.thread_rank() == 0) {
        atomicAdd(&total, part);
        per_warp[grid.thread_rank() / 32] = part - again;
    }
    grid.sync();
    if (grid.thread_rank() == 0) *out = total;
}

__global__ void halves(__half2 *x) {
    x[threadIdx.x] = __hfma2(x[threadIdx.x], __float2half2_rn(2), __float2half2_rn(0.5f));
}

int main() {
    const int blocks = 6, threads = 64;
    int *out, *per_warp, resident = 0;
    __half2 *x;
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, sum, threads, 0);
    cudaFuncSetAttribute(sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
    cudaMallocManaged(&out, sizeof *out);
    cudaMallocHost(&per_warp, blocks * threads / 32 * sizeof *per_warp);
    cudaMallocManaged(&x, 32 * sizeof *x);
    for (int i = 0; i < 32; i++) x[i] = __floats2half2_rn(i, -i);
    void *arguments[] = {&out, &per_warp};
    cudaLaunchCooperativeKernel((void *)sum, dim3(blocks), dim3(threads), arguments, 0, 0);
    halves<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    const int n = blocks * threads;
    int wrong = *out != n * (n - 1) / 2;
    for (int i = 0; i < n / 32; i++) wrong += per_warp[i] != 0;
    for (int i = 0; i < 32; i++) wrong += __low2float(x[i]) != 2 * i + 0.5f || __high2float(x[i]) != -2 * i + 0.5f;
    printf("%d wrong, warps of %d, %s\n", wrong, properties.warpSize, resident > 0 ? "resident" : "none resident");
    return wrong != 0;
}
