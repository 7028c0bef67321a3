/* resume.h - which rows of the plan a results file already holds, and what rows took. */
#ifndef RUNGS_PIPELINE_RESUME_H
#define RUNGS_PIPELINE_RESUME_H

#include "plan/scenario.h"

#include <jansson.h>

enum { ROW_KEY_MAX = CASE_TEXT_MAX + SPEC_TEXT_MAX + 16 };
/* What tells a row from others: case, variant with its tunables, and whether it was emulated. */
void row_key(const json_t *row, char key[ROW_KEY_MAX]);

typedef enum ResumeAnswer {
    RESUME_RUN,     /* not there */
    RESUME_DONE,    /* an earlier run wrote it */
    RESUME_REPEATED /* emulated in this run already: several sizes may shrink to one emulated case */
} ResumeAnswer;

typedef struct Resume {
    json_t *rows;    /* by case, variant and whether emulated: how many the file holds; false: emulated in this run */
    json_t *seconds; /* by the same: of the row that took longest */
} Resume;

/* path: the file; NULL for a run that resumes nothing. */
Status resume_open(const char *path, Resume *out);
void resume_close(Resume *self);
/* Is this row (as row_begin makes it) there? A plan may hold the same case and variant more than once (strict and declared bounds,
 * other modes): each row of the file then stands for one of them, in the order of the plan. An emulated row does not stand for one
 * on the device, which has a time. */
ResumeAnswer resume_ask(Resume *self, const json_t *row);
/* Call the first for every row that is run, the second once the row has its `seconds_spent`. */
void resume_ran(Resume *self, const json_t *row);
void resume_took(Resume *self, const json_t *row);
/* What the dearest row of this case and variant took so far; 0: there is none. */
double resume_seconds(const Resume *self, const json_t *row);

#endif
