/* families_real.h - series and tables that public Python packages ship, as input families "real:NAME". */
#ifndef RUNGS_VERIFY_FAMILIES_REAL_H
#define RUNGS_VERIFY_FAMILIES_REAL_H

#include "base/array.h"
#include "base/status.h"

#include <stdint.h>

/* STATUS_INVALID listing the names if there is no such series; starts no Python. name: without "real:". */
Status family_real_check(const char *name);
/* The series, or the table row by row, repeated as often as the array's size needs; seed 1, stream 0 begins at its start, others
 * elsewhere. The first use exports it to real/NAME.npy in the build folder. STATUS_UNSUPPORTED names the Python package that is
 * missing. */
Status family_real_fill(const char *name, uint64_t seed, uint64_t stream, Array *array);

#endif
