/* resume.h - what is known of rows by case and variant: those that a results file already holds, what they took, and what was
 * counted of them. What a call launches, moves and allocates is alike in every process. */
#ifndef RUNGS_PIPELINE_RESUME_H
#define RUNGS_PIPELINE_RESUME_H

#include "record/row.h"

typedef enum ResumeAnswer {
    RESUME_RUN,     /* not there */
    RESUME_DONE,    /* an earlier run wrote it */
    RESUME_REPEATED /* emulated in this run already: several sizes may shrink to one emulated case */
} ResumeAnswer;

/* Zero: a run that resumes nothing. */
typedef struct Resume {
    struct SeenRow *seen;
    size_t count;
} Resume;

/* path: the file; NULL for a run that resumes nothing. */
Status resume_open(const char *path, Resume *out);
void resume_close(Resume *self);
/* Is this row (as row_begin makes it) there? A plan may hold the same case and variant more than once (strict and declared bounds,
 * other modes): each row of the file then stands for one of them, in the order of the plan. An emulated row does not stand for one
 * on the device, which has a time. */
Status resume_ask(Resume *self, const Row *row, ResumeAnswer *answer);
/* Call the first for every row that is run, the second once the row has its `seconds_spent`. */
Status resume_ran(Resume *self, const Row *row);
Status resume_took(Resume *self, const Row *row);
/* What the slowest row of this case and variant took so far; 0: there is none. */
double resume_seconds(Resume *self, const Row *row);
/* Copies the counts of an earlier process into the row; false: there are none. */
bool resume_counts(Resume *self, Row *row);
void resume_counted(Resume *self, const Row *row);

#endif
