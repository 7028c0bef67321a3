/* rowfile.h - results files: one JSON object per line, appended and flushed as it happens. docs/RESULTS.md has every key;
 * record/row.schema.json is the schema that CI validates against. Keys are the same wherever they occur, so rows of different runs
 * concatenate. */
#ifndef RUNGS_RECORD_ROWFILE_H
#define RUNGS_RECORD_ROWFILE_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct RowFile RowFile;

/* Opens for appending (creates it). A file with lines that are not of this schema is refused and left as it is (STATUS_INVALID
 * names file and line). A last line that a crash cut off is dropped, with a note on stderr by the caller: *cut; a whole one without
 * its newline is kept. A FIFO must get a reader within 10 s (STATUS_IO). */
Status rowfile_open(const char *path, RowFile **out, bool *cut);
/* Writes one line and flushes it to the file system. STATUS_IO names the path (disk full ...); the file then still ends on a whole
 * line. */
Status rowfile_append(RowFile *file, const json_t *row);
/* STATUS_IO: the file was moved, or removed and its rows saved elsewhere; the message says where they are. rowfile_append() checks
 * this too. */
Status rowfile_check(RowFile *file);
void rowfile_close(RowFile *file);
/* False: a pipe or a device, which only takes rows. */
bool rowfile_can_be_read(const RowFile *file);
/* Replaces the file by these lines (base/output.h). */
Status rowfile_replace(const char *path, const json_t *lines);
/* All lines of a file as a JSON array; errors name file and line. New reference. */
Status rowfile_read(const char *path, json_t **out);

#endif
