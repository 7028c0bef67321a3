// Inline PTX of the list: numbers of lanes, loads and stores with hints, asynchronous copies, matrices of a warp.
#include <cstdint>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ uint32_t shared_address(const void *pointer) {
    uint32_t address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(address) : "l"(pointer));
    return address;
}

__global__ void loads(const uint4 *in, uint4 *out, uint32_t *lanes) {
    uint4 v;
    uint32_t lane, below;
    asm volatile("mov.u32 %0, %%laneid;\n\tmov.u32 %1, %%lanemask_lt;" : "=r"(lane), "=r"(below));
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(in + threadIdx.x));
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(out + threadIdx.x), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
    lanes[threadIdx.x] = lane + below;
}

__global__ void copies(const float *in, float *out, int use) {
    __shared__ float tile[128];
    extern __shared__ float more[];
    const uint32_t to = shared_address(&tile[4 * threadIdx.x]);
    const unsigned dynamic = static_cast<unsigned>(__cvta_generic_to_shared(&more[4 * threadIdx.x]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2;\n" ::"r"(to), "l"(in + 4 * threadIdx.x), "n"(16));
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(dynamic), "l"(in + 4 * threadIdx.x), "r"(8));
    asm volatile("cp.async.commit_group;\n" ::);
    if (use) out[4 * threadIdx.x] = tile[4 * threadIdx.x];
    asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
    __syncthreads();
    for (int i = threadIdx.x; i < 128; i += blockDim.x) out[i] = tile[127 - i] + 1000 * more[i];
}

// c[16][8] = a[16][16] b[16][8], a in rows; b in rows too, so that its fragments are those of the transposed
template <typename Half> __global__ void product(const Half *a, const Half *b, float *c) {
    __shared__ __align__(16) Half left[16 * 16], right[16 * 8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) left[i] = a[i];
    for (int i = lane; i < 128; i += 32) right[i] = b[i];
    __syncwarp();
    uint32_t x[4], y[2];
    float z[4] = {0, 0, 0, 0};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(&left[lane % 16 * 16 + lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1])
                 : "r"(shared_address(&right[lane % 16 * 8])));
    if (sizeof(Half) == 2 && (float)Half(257.0f) == 257.0f)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    const int row = lane / 4, column = lane % 4 * 2;
    c[row * 8 + column] = z[0], c[row * 8 + column + 1] = z[1];
    c[(row + 8) * 8 + column] = z[2], c[(row + 8) * 8 + column + 1] = z[3];
}

template <typename Half> static int wrong_product() {
    Half *a, *b;
    float *c;
    int wrong = 0;
    cudaMallocManaged(&a, 256 * sizeof *a);
    cudaMallocManaged(&b, 128 * sizeof *b);
    cudaMallocManaged(&c, 128 * sizeof *c);
    for (int i = 0; i < 256; i++) a[i] = Half((float)(i * 7 % 13 - 6));
    for (int i = 0; i < 128; i++) b[i] = Half((float)(i * 5 % 11 - 5));
    product<<<1, 32>>>(a, b, c);
    cudaDeviceSynchronize();
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0;
            for (int k = 0; k < 16; k++) sum += (float)a[i * 16 + k] * (float)b[k * 8 + j];
            wrong += c[i * 8 + j] != sum;
        }
    return wrong;
}

// c[16][8] = a[16][8] b[8][8]; the fragments by their definition
__global__ void product_tf32(const float *a, const float *b, float *c) {
    const int row = threadIdx.x / 4, k = threadIdx.x % 4;
    uint32_t x[4], y[2];
    float z[4];
    x[0] = __float_as_uint(a[row * 8 + k]), x[1] = __float_as_uint(a[(row + 8) * 8 + k]);
    x[2] = __float_as_uint(a[row * 8 + k + 4]), x[3] = __float_as_uint(a[(row + 8) * 8 + k + 4]);
    y[0] = __float_as_uint(b[k * 8 + row]), y[1] = __float_as_uint(b[(k + 4) * 8 + row]);
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(z[0]), "=f"(z[1]), "=f"(z[2]), "=f"(z[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(1.0f), "f"(1.0f), "f"(1.0f), "f"(1.0f));
    c[row * 8 + 2 * k] = z[0], c[row * 8 + 2 * k + 1] = z[1];
    c[(row + 8) * 8 + 2 * k] = z[2], c[(row + 8) * 8 + 2 * k + 1] = z[3];
}

static int wrong_tf32() {
    float *a, *b, *c;
    int wrong = 0;
    cudaMallocManaged(&a, 128 * sizeof *a);
    cudaMallocManaged(&b, 64 * sizeof *b);
    cudaMallocManaged(&c, 128 * sizeof *c);
    for (int i = 0; i < 128; i++) a[i] = (float)(i * 7 % 13 - 6);
    for (int i = 0; i < 64; i++) b[i] = (float)(i * 5 % 11 - 5);
    product_tf32<<<1, 32>>>(a, b, c);
    cudaDeviceSynchronize();
    for (int i = 0; i < 128; i++) {
        float sum = 1;
        for (int k = 0; k < 8; k++) sum += a[i / 8 * 8 + k] * b[k * 8 + i % 8];
        wrong += c[i] != sum;
    }
    return wrong;
}

int main(int argc, char **) {
    uint4 *in, *out;
    uint32_t *lanes;
    float *from, *to;
    int wrong = 0;
    cudaMallocManaged(&in, 64 * sizeof *in);
    cudaMallocManaged(&out, 64 * sizeof *out);
    cudaMallocManaged(&lanes, 64 * sizeof *lanes);
    for (unsigned i = 0; i < 64; i++) in[i] = {i, i + 1, i + 2, i + 3};
    loads<<<1, 64>>>(in, out, lanes);
    cudaDeviceSynchronize();
    for (unsigned i = 0; i < 64; i++) wrong += out[i].x != i || out[i].w != i + 3 || lanes[i] != i % 32 + (1u << i % 32) - 1;
    cudaMallocManaged(&from, 128 * sizeof *from);
    cudaMallocManaged(&to, 128 * sizeof *to);
    for (int i = 0; i < 128; i++) from[i] = (float)i;
    copies<<<1, 32, 512>>>(from, to, argc > 1);
    cudaDeviceSynchronize();
    for (int i = 0; i < 128; i++) wrong += to[i] != 127 - i + 1000 * (i % 4 < 2 ? i : 0);
    printf("%d wrong, products %d, %d and %d\n", wrong, wrong_product<half>(), wrong_product<__nv_bfloat16>(), wrong_tf32());
    return 0;
}
