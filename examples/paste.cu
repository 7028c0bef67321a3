// A file as people publish them: its own kernels, launchers and main(); nothing of a harness.
// rungs: --op double --call 'twice2(y, x, n, 128)'
#include <cstdio>

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

__global__ void twice_kernel(float *out, const float *inp, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) out[i] = 2 * inp[i];
}

template <typename scalar, int factor> __global__ void times_kernel(scalar *out, const scalar *inp, size_t N) {
    extern __shared__ char tile[];
    scalar *mine = reinterpret_cast<scalar *>(tile);
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    mine[threadIdx.x] = i < N ? inp[i] : scalar(0);
    __syncthreads();
    if (i < N) out[i] = scalar(factor) * mine[threadIdx.x];
}

void twice1(float *out, float *inp, int N, const int block_size) {
    twice_kernel<<<CEIL_DIV(N, block_size), block_size>>>(out, inp, N);
}

void twice2(float *out, const float *inp, int N, const int block_size) {
    cudaMemset(out, 0, N * sizeof(float));
    twice_kernel<<<CEIL_DIV(N, block_size), block_size, 0>>>(out, inp, N);
    cudaDeviceSynchronize();
}

int compare_with_library(const float *out, int N); // of a file that is not here

int main() {
    printf("not called by rungs\n");
    return compare_with_library(nullptr, 0);
}
