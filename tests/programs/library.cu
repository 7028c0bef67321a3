typedef struct Handle *cublasHandle_t; // as cublas_v2.h has it
extern "C" int cublasCreate_v2(cublasHandle_t *handle);

int main() {
    cublasHandle_t handle;
    return cublasCreate_v2(&handle);
}
