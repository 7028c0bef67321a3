/* array.h - a dense array in C order: what ops, variants and files exchange. It borrows its memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/cdefs.h>

__BEGIN_DECLS

typedef enum DType {
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_I32,
    DTYPE_I64,
    DTYPE_U8,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_E4M3,
    DTYPE_E5M2,
    DTYPE_I8,
    DTYPE_U16,
    DTYPE_U32,
    DTYPE_U64,
    DTYPE_BOOL,
    DTYPE_COUNT
} DType;

enum { ARRAY_MAX_RANK = 6, ARRAY_NAME_MAX = 32, OP_MAX_ARRAYS = 16 };

typedef struct Array {
    char name[ARRAY_NAME_MAX]; /* as the op declares it: "x", "y", "names.offsets" */
    DType dtype;
    int rank;
    size_t shape[ARRAY_MAX_RANK]; /* elements per dimension, C order */
    void *data;                   /* where the device of the moment can reach it; NULL while only the shape is known */
} Array;

size_t dtype_size(DType dtype); /* bytes of one element */
/* Unit round-off u (half the machine epsilon): 2^-24, 2^-53, ...; 0 for integers. */
double dtype_unit_roundoff(DType dtype);
const char *dtype_name(DType dtype);  /* "f32", "bf16", "e4m3", "i64", ... */
const char *dtype_numpy(DType dtype); /* "float32"; "bfloat16" and "float8_e4m3fn" are those of ml_dtypes */
const char *dtype_npy(DType dtype);   /* in the header of a .npy file: "<f4", "|u1"; as ml_dtypes has them "<V2", "<V1", "<f1" */
bool dtype_is_real(DType dtype);      /* of floating-point numbers: base/numbers.h reads them */
bool dtype_is_narrow(DType dtype);    /* of these f16, bf16, e4m3, e5m2: base/narrow.h */
/* Reads "f32", "float32", "f64", ...; false if the word names no dtype. */
bool dtype_parse(const char *word, DType *out);

size_t array_count(const Array *array); /* elements: the product of the shape; 1 for rank 0 */
size_t array_bytes(const Array *array);
/* "f64[4096, 100000]" into `text`; returns text. */
char *array_describe(const Array *array, char *text, size_t size);
/* A rank-1 description without memory. */
Array array_1d(const char *name, DType dtype, size_t n);
/* By name; NULL if there is none. */
const Array *array_find(const Array *arrays, int count, const char *name);
/* The input that this output updates in place: of its name, dtype and shape; -1: none. */
int array_updated(const Array *out, const Array *in, int in_count);

__END_DECLS
