/* npy.h - NumPy's .npy files (versions 1.0 to 3.0), C order, little-endian; format: numpy.lib.format's documentation. */
#pragma once

#include "base/array.h"
#include "base/status.h"

/* Reads a whole file into freshly allocated memory (free(out->data)). The name is left empty. STATUS_INVALID names the path and
 * what was expected: wrong magic, unknown version, malformed header, Fortran order, a dtype that dtype_npy() does not have, big
 * endian, rank above ARRAY_MAX_RANK, truncated data, trailing bytes. */
Status npy_read(const char *path, Array *out);
/* Writes version 1.0 as base/output.h says: on any error (a full disk, say) no partial file is left and an existing one is
 * untouched; the message names the path. */
Status npy_write(const char *path, const Array *array);
