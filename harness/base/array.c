#include "base/array.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *numpy_name, *npy;
    size_t size;
    double unit_roundoff;
} DTYPES[DTYPE_COUNT] = {
    [DTYPE_F32] = {"f32", "float32", "<f4", 4, 0x1p-24},
    [DTYPE_F64] = {"f64", "float64", "<f8", 8, 0x1p-53},
    [DTYPE_I32] = {"i32", "int32", "<i4", 4, 0},
    [DTYPE_I64] = {"i64", "int64", "<i8", 8, 0},
    [DTYPE_U8] = {"u8", "uint8", "|u1", 1, 0},
    [DTYPE_F16] = {"f16", "float16", "<f2", 2, 0x1p-11},
    [DTYPE_BF16] = {"bf16", "bfloat16", "<V2", 2, 0x1p-8},
    [DTYPE_E4M3] = {"e4m3", "float8_e4m3fn", "<V1", 1, 0x1p-4},
    [DTYPE_E5M2] = {"e5m2", "float8_e5m2", "<f1", 1, 0x1p-3},
    [DTYPE_I8] = {"i8", "int8", "|i1", 1, 0},
    [DTYPE_U16] = {"u16", "uint16", "<u2", 2, 0},
    [DTYPE_U32] = {"u32", "uint32", "<u4", 4, 0},
    [DTYPE_U64] = {"u64", "uint64", "<u8", 8, 0},
    [DTYPE_BOOL] = {"bool", "bool", "|b1", 1, 0},
};

size_t dtype_size(DType dtype) {
    return DTYPES[dtype].size;
}

double dtype_unit_roundoff(DType dtype) {
    return DTYPES[dtype].unit_roundoff;
}

const char *dtype_name(DType dtype) {
    return DTYPES[dtype].name;
}

const char *dtype_numpy(DType dtype) {
    return DTYPES[dtype].numpy_name;
}

const char *dtype_npy(DType dtype) {
    return DTYPES[dtype].npy;
}

bool dtype_is_real(DType dtype) {
    return DTYPES[dtype].unit_roundoff > 0;
}

bool dtype_is_narrow(DType dtype) {
    return DTYPES[dtype].unit_roundoff > DTYPES[DTYPE_F32].unit_roundoff;
}

bool dtype_parse(const char *word, DType *out) {
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(word, DTYPES[i].name) != 0 && strcmp(word, DTYPES[i].numpy_name) != 0) continue;
        *out = (DType)i;
        return true;
    }
    return false;
}

size_t array_count(const Array *array) {
    size_t count = 1;
    for (int d = 0; d < array->rank; d++) count *= array->shape[d];
    return count;
}

size_t array_bytes(const Array *array) {
    return array_count(array) * dtype_size(array->dtype);
}

char *array_describe(const Array *array, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s[", dtype_name(array->dtype));
    for (int d = 0; d < array->rank && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", d ? ", " : "", array->shape[d]);
    if (used < size) snprintf(text + used, size - used, "]");
    return text;
}

Array array_1d(const char *name, DType dtype, size_t n) {
    Array array = {.dtype = dtype, .rank = 1, .shape = {n}};
    snprintf(array.name, sizeof array.name, "%s", name);
    return array;
}

int array_updated(const Array *out, const Array *in, int in_count) {
    for (int i = 0; i < in_count; i++) {
        bool same = strcmp(in[i].name, out->name) == 0 && in[i].dtype == out->dtype && in[i].rank == out->rank;
        for (int d = 0; same && d < out->rank; d++) same = in[i].shape[d] == out->shape[d];
        if (same) return i;
    }
    return -1;
}

const Array *array_find(const Array *arrays, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(arrays[i].name, name) == 0) return &arrays[i];
    return NULL;
}
