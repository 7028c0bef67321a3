#include "pipeline/run.h"

#include "base/jsontext.h"
#include "base/memory.h"
#include "record/row.h"

#include <stdlib.h>
#include <string.h>

/* The GPU, or the CPU where there is none: ratios over two machines mean nothing. */
static const char *machine_of(const json_t *environment) {
    const char *gpu = text_of(json_object_get(environment, "gpu"), "name");
    return *gpu ? gpu : text_of(json_object_get(environment, "cpu"), "model");
}

typedef struct Dated {
    const char *date;
    size_t index;
    json_t *line;
} Dated;

static int by_date(const void *a, const void *b) {
    const Dated *x = a, *y = b;
    const int order = strcmp(x->date, y->date);
    return order ? order : x->index < y->index ? -1 : 1; /* within a run the order of the file */
}

static Status read_all(const char *const *paths, json_t **out) {
    *out = json_array();
    for (; *paths; paths++) {
        json_t *lines = NULL;
        const Status status = rowfile_read(*paths, &lines);
        if (status != STATUS_OK) {
            json_decref(*out);
            return status;
        }
        json_array_extend(*out, lines);
        json_decref(lines);
    }
    return STATUS_OK;
}

/* Lines in the order of their runs' dates -> {machine: [lines]}; keys keep that order. */
static Status by_machine(const json_t *lines, json_t **out) {
    const size_t count = json_array_size(lines);
    Dated *dated = calloc(count + 1, sizeof *dated);
    if (!dated) return status_fail(STATUS_MEMORY, "no memory for %zu lines of rows", count);
    json_t *environments = json_object(), *line;
    size_t i;
    json_array_foreach(lines, i, line) {
        if (line_kind(line) == LINE_ENVIRONMENT) json_object_set(environments, text_of(line, "run"), line);
    }
    json_array_foreach(lines, i, line) {
        dated[i] = (Dated){text_of(json_object_get(environments, text_of(line, "run")), "date"), i, line};
    }
    qsort(dated, count, sizeof *dated, by_date);
    *out = json_object();
    for (i = 0; i < count; i++) {
        if (line_kind(dated[i].line) != LINE_ENVIRONMENT && line_kind(dated[i].line) != LINE_ROW) continue;
        const char *machine = machine_of(json_object_get(environments, text_of(dated[i].line, "run")));
        if (!json_object_get(*out, machine)) json_object_set_new(*out, machine, json_array());
        json_array_append(json_object_get(*out, machine), dated[i].line);
    }
    json_decref(environments);
    free(dated);
    return STATUS_OK;
}

/* The latest run here that has rows of the claim's scenario; NULL: none. */
static const char *run_of(const Claim *claim, const json_t *rows) {
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const json_t *row = json_array_get(rows, i);
        if (line_kind(row) == LINE_ROW && strcmp(text_of(row, "scenario"), claim->scenario) == 0) return text_of(row, "run");
    }
    return NULL;
}

/* How much a judgement says: a number or a wrong result, a reason why there is none, no row at all. */
static int weight_of(const json_t *line) {
    const int outcome = claim_outcome(line);
    return json_is_number(json_object_get(line, "here")) || outcome == CLAIM_FAILS ? 2 : outcome != CLAIM_NOT_RUN;
}

/* One line for each machine whose rows decide it; where none do, of those that ran the scenario the latest that says most. */
static void judge_one(const Claim *claim, json_t *machines, json_t *out) {
    const char *machine;
    json_t *rows, *best = NULL;
    bool decided = false;
    json_object_foreach(machines, machine, rows) {
        json_t *line = claim_judge(claim, rows);
        const char *run = run_of(claim, rows);
        json_object_set_new(line, "schema", json_integer(ROW_SCHEMA_VERSION));
        if (weight_of(line) == 2) {
            decided = true;
            json_array_append(out, line);
        } else if (run && (!best || weight_of(line) >= weight_of(best))) {
            json_object_set_new(line, "run", json_string(run));
            json_decref(best);
            best = json_incref(line);
        }
        json_decref(line);
    }
    if (!decided && best) json_array_append(out, best);
    json_decref(best);
}

Status claims_of_files(const Plan *plan, const char *const *paths, json_t **out) {
    json_t *lines = NULL, *machines = NULL;
    *out = NULL;
    TRY(read_all(paths, &lines));
    const Status status = by_machine(lines, &machines);
    if (status == STATUS_OK) {
        *out = json_array();
        for (int i = 0; i < plan->claim_count; i++) judge_one(&plan->claims[i], machines, *out);
    }
    json_decref(machines);
    json_decref(lines);
    return status == STATUS_OK ? memory_check() : status;
}
