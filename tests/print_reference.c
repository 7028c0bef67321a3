/* print-reference: the references of cases on given numbers, for tests that know them exactly
 * (tests/scripts/test_exact_references.py).
 *
 * From stdin, for each case: its text on one line, the index of a bound on the next, then each input array on a line of its own. To
 * stdout, for each output: a line of values and a line of tolerances. Numbers as printf's %a writes them. Exit 1 at the first
 * mistake. */
#include "op.h"
#include "plan/case.h"
#include "plan/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *line;
static size_t room;

static bool next_line(void) {
    return getline(&line, &room, stdin) > 0;
}

static void set(Array *array, size_t i, double value) {
    if (array->dtype == DTYPE_U8)
        ((unsigned char *)array->data)[i] = (unsigned char)value;
    else if (array->dtype == DTYPE_F32)
        ((float *)array->data)[i] = (float)value;
    else
        ((double *)array->data)[i] = value;
}

static Status read_input(Array *array) {
    if (!next_line()) return status_fail(STATUS_INVALID, "%s: its line is missing", array->name);
    char *at = line;
    array->data = malloc(array_bytes(array) + 1);
    for (size_t i = 0; i < array_count(array); i++) {
        char *end;
        set(array, i, strtod(at, &end));
        if (end == at) return status_fail(STATUS_INVALID, "%s: number %zu is missing", array->name, i);
        at = end;
    }
    return STATUS_OK;
}

static void print_line(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) printf("%a ", numbers[i]);
    printf("\n");
}

static Status one_case(void) {
    Case problem;
    const Op *op;
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS];
    Reference references[OP_MAX_ARRAYS];
    line[strcspn(line, "\n")] = '\0';
    TRY(case_parse(line, &problem));
    TRY(registry_require_op(problem.op, &op));
    TRY(op->shapes(&problem, in, out));
    if (!next_line()) return status_fail(STATUS_INVALID, "the index of a bound is missing");
    const int bound = atoi(line);
    for (int i = 0; i < op->in_count; i++) TRY(read_input(&in[i]));
    for (int i = 0; i < op->out_count; i++) {
        references[i].value = malloc(array_count(&out[i]) * sizeof(double) + 1);
        references[i].tolerance = malloc(array_count(&out[i]) * sizeof(double) + 1);
    }
    TRY(op->reference(&problem, in, bound, references));
    for (int i = 0; i < op->out_count; i++) {
        print_line(references[i].value, array_count(&out[i]));
        print_line(references[i].tolerance, array_count(&out[i]));
        free(references[i].value);
        free(references[i].tolerance);
    }
    for (int i = 0; i < op->in_count; i++) free(in[i].data);
    return STATUS_OK;
}

int main(void) {
    while (next_line())
        if (one_case() != STATUS_OK) {
            fprintf(stderr, "print-reference: %s\n", status_message());
            return 1;
        }
    free(line);
    return 0;
}
