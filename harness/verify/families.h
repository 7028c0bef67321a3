/* families.h - input families: from a name and a seed to numbers, the same on every machine and for any number of threads. */
#pragma once

#include "base/array.h"
#include "base/case.h"
#include "base/status.h"
#include "base/vary.h"
#include "op.h"

typedef struct Family {
    const char *name; /* NULL ends the table */
    const char *summary;
} Family;

extern const Family FAMILIES[]; /* without real:NAME and the numbers in offset1e3..offset1e9 */

/* STATUS_INVALID naming the word and listing what is known; checks real:NAME against the series that exist. */
Status family_check(const char *name);
/* Fills a host array (f32 or f64) of the case's family and seed; `stream` makes several inputs of one case differ. */
Status family_fill(const Case *problem, uint64_t stream, Array *array);
/* Fills input `index` of a case as its op wants it: from the family (arrays of other dtypes with zeros), then Op.generate. */
Status family_input(const Op *op, const Case *problem, int index, Array *in);
/* The same for a case that differs from `named` only in its seed. A family without a seed (ramp, ones,
 * real:NAME) is varied. */
Status family_input_anew(const Op *op, const Case *named, const Case *problem, int index, Array *in);
/* How input `index` of a timed call becomes another than those of the case, which `all` has (base/vary.h). */
VaryHow family_vary(const Op *op, const Case *problem, int index, const Array *all);

/* families_real.c: series and tables that public Python packages ship, as input families "real:NAME". */
/* STATUS_INVALID listing the names if there is no such series; starts no Python. name: without "real:". */
Status family_real_check(const char *name);
/* The series, or the table row by row, repeated as often as the array's size needs; seed 1, stream 0 begins at its start, others
 * elsewhere. The first use exports it to real/NAME.npy in the build folder. STATUS_UNSUPPORTED names the Python package that is
 * missing. */
Status family_real_fill(const char *name, uint64_t seed, uint64_t stream, Array *array);
