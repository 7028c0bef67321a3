// Names that the emulator has too, and types of eight bits.
#include <cstdio>
#include <cuda_fp8.h>

enum { WARP_SYNC = 3, SCOPE_BLOCK };
#define WARP_ALL 0xffffffffu

__global__ void k(int *out) {
    const __nv_fp8_e4m3 small(2.0f * WARP_SYNC);
    *out = __shfl_sync(WARP_ALL, (int)(float)small, 0) + SCOPE_BLOCK;
}

int main() {
    int *out;
    cudaMallocManaged(&out, sizeof *out);
    k<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    printf("%d\n", *out);
    return 0;
}
