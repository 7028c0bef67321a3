/* columns.h - columns of strings in `rungs exec`: where an op has arrays names.offsets, names.chars and names.validity, a user may
 * give --in names=FILE.arrow or FILE.csv:COLUMN, and --out likewise. A Python program (columns.py) turns such files into temporary
 * .npy files and back, so that everything else knows .npy alone. */
#pragma once

#include "base/array.h"
#include "base/status.h"
#include "base/temporary.h"
#include "cli/options.h"

enum { COLUMN_PARTS = 3 };

/* Zero-initialise. */
typedef struct Columns {
    Pairs out;   /* as the user gave them: name and file */
    Words paths; /* of the parts: FOLDER/NAME.offsets.npy ... */
    TemporaryFolder folder;
} Columns;

/* One direction: the op's arrays and what the user gave for them. */
typedef struct ColumnSide {
    const Array *arrays;
    int count;
    Pairs *given;
} ColumnSide;

/* The columns among --in and --out are replaced by their parts; those of inputs are read. dtype: that of the offsets, "i32" or
 * "i64", or NULL: as the files have it. */
Status columns_open(Columns *self, ColumnSide in, ColumnSide out, const char *dtype);
/* Is this one of our own files, of which the user need not hear? */
bool columns_own(const Columns *self, const char *path);
/* Writes the files of the outputs, and says so on stdout. */
Status columns_write(Columns *self);
/* Removes the .npy files. */
void columns_close(Columns *self);
