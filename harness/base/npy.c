/* The header of a .npy file is a Python dictionary literal with three keys, which is nearly JSON. */
#include "base/npy.h"

#include "base/output.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC_BYTES = 6, HEADER_MAX = 1 << 20, WRITTEN_HEADER_MAX = 256 };

static const char MAGIC[MAGIC_BYTES] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* In place, so that errors keep their place: brackets, quotes and words as JSON has them, and no comma behind the last element. */
static void make_json(char *text) {
    for (char *c = text; *c; c++) {
        const char next = c[1 + strspn(c + 1, " \t\n")];
        if (*c == '\'') *c = '"';
        if (*c == ',' && (next == ')' || next == '}')) *c = ' ';
        if (*c == '(' || *c == ')') *c = *c == '(' ? '[' : ']';
        if (strncmp(c, "True", 4) == 0 || strncmp(c, "False", 5) == 0) *c |= 'a' - 'A';
    }
}

static const char KNOWN[] = "'<f2', '<f4', '<f8', '|i1', '<i4', '<i8', '|u1', '<u2', '<u4', '<u8', '|b1' or ml_dtypes' '<V2', "
                            "'<V1', '<f1'";

static Status find_dtype(const char *path, const char *descr, DType *out) {
    for (int dtype = 0; descr[0] && dtype < DTYPE_COUNT; dtype++) {
        const char *known = dtype_npy((DType)dtype) + 1;
        if (strcmp(descr + 1, known) != 0) continue;
        *out = (DType)dtype;
        const bool ordered = dtype_size(*out) > 1 && known[0] != 'V'; /* '|': bytes have no order */
        if (descr[0] == '<' || (descr[0] == '|' && !ordered)) return STATUS_OK;
        if (descr[0] == '>')
            return status_fail(STATUS_INVALID, "%s: dtype '%s' is big endian; little endian ('<%s') is expected", path, descr,
                               known);
    }
    return status_fail(STATUS_INVALID, "%s: dtype '%s' is not supported; %s is expected", path, descr, KNOWN);
}

/* The preamble and the header's text (malloc'd), leaving the file at the data. */
static Status read_header_text(const char *path, FILE *file, char **out) {
    unsigned char start[MAGIC_BYTES + 2], length_bytes[4] = {0};
    const size_t got = fread(start, 1, sizeof start, file);
    if (ferror(file)) return status_fail(STATUS_INVALID, "%s: cannot be read: %s", path, strerror(errno)); /* a folder */
    if (got == sizeof start && memcmp(start, "PK\3\4", 4) == 0)
        return status_fail(STATUS_INVALID,
                           "%s: not a .npy file but an archive of them, as numpy.savez() writes it: numpy.save() is for one array",
                           path);
    if (got != sizeof start || memcmp(start, MAGIC, MAGIC_BYTES) != 0)
        return status_fail(STATUS_INVALID, "%s: not a .npy file: it does not begin with \\x93NUMPY and a version", path);
    const unsigned major = start[MAGIC_BYTES], minor = start[MAGIC_BYTES + 1];
    if (major < 1 || major > 3 || minor != 0)
        return status_fail(STATUS_INVALID, "%s: unknown .npy version %u.%u; 1.0, 2.0 or 3.0 is expected", path, major, minor);
    const size_t width = major == 1 ? 2 : 4;
    if (fread(length_bytes, 1, width, file) != width) return status_fail(STATUS_INVALID, "%s: truncated in its header", path);
    size_t length = 0;
    for (size_t i = 0; i < width; i++) length |= (size_t)length_bytes[i] << (8 * i);
    if (length > HEADER_MAX) return status_fail(STATUS_INVALID, "%s: malformed .npy header: %zu bytes long", path, length);
    char *text = malloc(length + 1);
    if (!text) return status_fail(STATUS_MEMORY, "%s: no memory for its header", path);
    if (fread(text, 1, length, file) != length) {
        free(text);
        return status_fail(STATUS_INVALID, "%s: truncated in its header", path);
    }
    text[length] = '\0';
    if (strlen(text) != length) {
        free(text);
        return status_fail(STATUS_INVALID, "%s: malformed .npy header: it contains a NUL", path);
    }
    *out = text;
    return STATUS_OK;
}

static Status malformed(const char *path, const char *expected) {
    return status_fail(STATUS_INVALID, "%s: malformed .npy header: %s is expected", path, expected);
}

/* tuple: has the shape a comma? Of one dimension it must. */
static Status describe(const char *path, const json_t *header, bool tuple, Array *out) {
    const json_t *descr = json_object_get(header, "descr"), *order = json_object_get(header, "fortran_order"),
                 *shape = json_object_get(header, "shape");
    if (!descr || !order || !shape || json_object_size(header) != 3)
        return malformed(path, "a dictionary with each of 'descr', 'fortran_order', 'shape' once");
    if (json_is_array(descr)) return status_fail(STATUS_INVALID, "%s: dtype is structured; %s is expected", path, KNOWN);
    if (!json_is_string(descr)) return malformed(path, "a quoted word as 'descr'");
    if (!json_is_boolean(order)) return malformed(path, "True or False as 'fortran_order'");
    if (!json_is_array(shape)) return malformed(path, "a shape such as (3, 4)");
    if (json_array_size(shape) > ARRAY_MAX_RANK)
        return status_fail(STATUS_INVALID, "%s: more than %d dimensions; at most %d are supported", path, ARRAY_MAX_RANK,
                           ARRAY_MAX_RANK);
    if (json_array_size(shape) == 1 && !tuple) return malformed(path, "',' (a one-dimensional shape is written (n,))");
    *out = (Array){.rank = (int)json_array_size(shape)};
    TRY(find_dtype(path, json_string_value(descr), &out->dtype));
    if (json_is_true(order))
        return status_fail(STATUS_INVALID, "%s: Fortran order; C order is expected (numpy.ascontiguousarray)", path);
    size_t bytes = dtype_size(out->dtype);
    for (int d = 0; d < out->rank; d++) {
        const json_t *length = json_array_get(shape, (size_t)d);
        if (!json_is_integer(length) || json_integer_value(length) < 0) return malformed(path, "a dimension, 0 or more,");
        out->shape[d] = (size_t)json_integer_value(length);
        if (__builtin_mul_overflow(bytes, out->shape[d], &bytes) || bytes > INT64_MAX)
            return status_fail(STATUS_INVALID, "%s: malformed .npy header: the shape is larger than any memory", path);
    }
    return STATUS_OK;
}

static Status parse_header(const char *path, char *text, Array *out) {
    json_error_t error;
    const char *shape = strchr(text, '(');
    const bool tuple = shape && strcspn(shape, ",") < strcspn(shape, ")");
    make_json(text);
    json_t *header = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!header)
        return status_fail(STATUS_INVALID, "%s: malformed .npy header, character %d: %s", path, error.position, error.text);
    const Status status = describe(path, header, tuple, out);
    json_decref(header);
    return status;
}

static Status wrong_length(const char *path, bool longer, size_t expected, long long found) {
    return status_fail(STATUS_INVALID, "%s: %s: the header promises %zu bytes of data, the file holds %lld", path,
                       longer ? "trailing bytes" : "truncated", expected, found);
}

static Status read_data(const char *path, FILE *file, Array *out) {
    const size_t bytes = array_bytes(out);
    struct stat facts;
    const long at = ftell(file);
    if (at >= 0 && fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode)) { /* before memory is asked for */
        const long long found = (long long)facts.st_size - at;
        if (found != (long long)bytes) return wrong_length(path, found > (long long)bytes, bytes, found);
    }
    char *data = malloc(bytes ? bytes : 1);
    if (!data) return status_fail(STATUS_MEMORY, "%s: no memory for %zu bytes", path, bytes);
    const size_t got = fread(data, 1, bytes, file);
    const bool longer = got == bytes && fgetc(file) != EOF;
    if (got == bytes && !longer && !ferror(file)) {
        out->data = data;
        return STATUS_OK;
    }
    free(data);
    if (ferror(file)) return status_fail(STATUS_IO, "%s: cannot be read: %s", path, strerror(errno));
    return wrong_length(path, longer, bytes, (long long)got + longer);
}

Status npy_read(const char *path, Array *out) {
    FILE *file = fopen(path, "rb");
    if (!file) return status_fail(errno == ENOENT ? STATUS_INVALID : STATUS_IO, "%s: cannot be opened: %s", path, strerror(errno));
    char *text = NULL;
    Array array = {0};
    Status status = read_header_text(path, file, &text);
    if (status == STATUS_OK) status = parse_header(path, text, &array);
    if (status == STATUS_OK) status = read_data(path, file, &array);
    free(text);
    fclose(file);
    if (status == STATUS_OK) *out = array;
    return status;
}

/* Version 1.0: the data begin at a multiple of 64 bytes. Returns the length. */
static size_t format_header(const Array *array, char text[WRITTEN_HEADER_MAX]) {
    char shape[ARRAY_MAX_RANK * 24] = "";
    size_t used = 0;
    for (int d = 0; d < array->rank; d++)
        used += (size_t)snprintf(shape + used, sizeof shape - used,
                                 array->rank == 1 ? "%zu,"
                                 : d              ? ", %zu"
                                                  : "%zu",
                                 array->shape[d]);
    const size_t preamble = MAGIC_BYTES + 4;
    size_t length =
        preamble + (size_t)snprintf(text + preamble, WRITTEN_HEADER_MAX - preamble,
                                    "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype_npy(array->dtype), shape);
    while ((length + 1) % 64) text[length++] = ' ';
    text[length++] = '\n';
    memcpy(text, MAGIC, MAGIC_BYTES);
    text[MAGIC_BYTES] = 1;
    text[MAGIC_BYTES + 1] = 0;
    text[MAGIC_BYTES + 2] = (char)((length - preamble) & 0xff);
    text[MAGIC_BYTES + 3] = (char)((length - preamble) >> 8);
    return length;
}

Status npy_write(const char *path, const Array *array) {
    char header[WRITTEN_HEADER_MAX];
    const size_t header_bytes = format_header(array, header);
    Output file;
    TRY(output_open(path, &file));
    Status status = output_write(&file, header, header_bytes);
    if (status == STATUS_OK) status = output_write(&file, array->data, array_bytes(array));
    return output_close(&file, status);
}
