// Products of matrices by nvcuda::wmma: types, shapes and layouts; small integers, so that they are exact.
#include <cstdio>
#include <cstdlib>
#include <mma.h>
using namespace nvcuda;
template <typename T, typename Out, int m, int n, int k, typename LA, typename LB, typename S = T>
__global__ void product(const S *a, const S *b, Out *c, int count) {
    wmma::fragment<wmma::matrix_a, m, n, k, T, LA> fa;
    wmma::fragment<wmma::matrix_b, m, n, k, T, LB> fb;
    wmma::fragment<wmma::accumulator, m, n, k, Out> fc;
    wmma::fill_fragment(fc, Out(0.0f));
    for (int i = 0; i < count; i++) {
        wmma::load_matrix_sync(fa, a + (std::is_same<LA, wmma::row_major>::value ? i * k : i * k * m),
                               std::is_same<LA, wmma::row_major>::value ? k * count : m);
        wmma::load_matrix_sync(fb, b + (std::is_same<LB, wmma::row_major>::value ? i * k * n : i * k),
                               std::is_same<LB, wmma::row_major>::value ? n : k * count);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] * Out(2.0f);
    wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}
template <typename T, typename Out, int m, int n, int k, typename LA, typename LB, typename S = T> void check(const char *name) {
    const int count = 3, K = k * count;
    S *a, *b;
    Out *c;
    cudaMallocManaged(&a, m * K * sizeof *a);
    cudaMallocManaged(&b, n * K * sizeof *b);
    cudaMallocManaged(&c, m * n * sizeof *c);
    for (int i = 0; i < m * K; i++) a[i] = (S)(float)((i * 7 + 3) % 5 - 2);
    for (int i = 0; i < n * K; i++) b[i] = (S)(float)((i * 5 + 1) % 7 - 3);
    product<T, Out, m, n, k, LA, LB, S><<<1, 32>>>(a, b, c, count);
    cudaDeviceSynchronize();
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < K; l++)
                sum += (double)(float)a[std::is_same<LA, wmma::row_major>::value ? i * K + l : l * m + i] *
                       (double)(float)b[std::is_same<LB, wmma::row_major>::value ? l * n + j : j * K + l];
            if ((double)(float)c[i * n + j] != 2 * sum) {
                printf("%s: [%d][%d] is %g, not %g\n", name, i, j, (double)(float)c[i * n + j], 2 * sum);
                exit(1);
            }
        }
}
int main() {
    using namespace wmma;
    check<__half, float, 16, 16, 16, row_major, col_major>("half");
    check<__half, __half, 32, 8, 16, col_major, row_major>("32x8");
    check<__half, float, 8, 32, 16, row_major, row_major>("8x32");
    check<__nv_bfloat16, float, 16, 16, 16, col_major, col_major>("bf16");
    check<signed char, int, 16, 16, 16, row_major, col_major>("s8");
    check<double, double, 8, 8, 4, row_major, col_major>("double");
    check<precision::tf32, float, 16, 16, 8, row_major, row_major, float>("tf32");
    puts("right");
}
