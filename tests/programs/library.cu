typedef struct Handle *cublasHandle_t; // as cublas_v2.h has it
extern "C" int cublasCreate_v2(cublasHandle_t *handle);
extern "C" int cublasSscal_v2(cublasHandle_t handle, int n, const float *alpha, float *x, int step);

int main() {
    cublasHandle_t handle;
    return cublasCreate_v2(&handle) || cublasSscal_v2(handle, 0, nullptr, nullptr, 1);
}
