#include <cstdio>

__global__ void fill(float *x) {
    x[threadIdx.x] = 1; // as many threads as elements, and one more
}

int main() {
    float *x;
    cudaMalloc(&x, 63 * sizeof(float));
    fill<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    puts("unreachable");
    return 0;
}
