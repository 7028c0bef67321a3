#include <cstdio>

__global__ void reverse(int *x) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x]; // no barrier before
}

int main() {
    int *x;
    cudaMalloc(&x, 64 * sizeof(int));
    cudaMemset(x, 0, 64 * sizeof(int));
    reverse<<<1, 64, 64 * sizeof(int)>>>(x);
    cudaDeviceSynchronize();
    return 0;
}
