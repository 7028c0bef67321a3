#include "cli/table.h"

#include "base/foreign.h"
#include "base/mode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 120, SPEC_COLUMNS = 32 };

typedef struct TableLine {
    char text[CASE_TEXT_MAX], spec[CASE_TEXT_MAX]; /* the case; the variant without its op */
    bool baseline, on_one_input;
    Mode mode;
    double median, low, high, share, bytes_per_second;
} TableLine;

static const Mode ORDER[] = {MODE_COLD, MODE_HOT, MODE_GRAPH, MODE_COMPLETE, MODE_ENQUEUE, MODE_FIRST};

typedef struct Unit {
    double seconds;
    const char *name;
} Unit;

static Unit unit_of(double seconds) {
    static const Unit UNITS[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && seconds >= UNITS[i + 1].seconds) i++;
    return UNITS[i];
}

void table_seconds(double seconds, char text[32]) {
    const Unit unit = unit_of(seconds);
    snprintf(text, 32, "%.3g %s", seconds / unit.seconds, unit.name);
}

static bool same_place(const TableLine *line, const Row *row, const char *spec) {
    return strcmp(line->text, row->text) == 0 && strcmp(line->spec, spec) == 0;
}

/* The line of this row: that of an earlier process, or a new one. NULL: there is no room. */
static TableLine *place_of(Table *self, const Row *row, const char *spec) {
    for (size_t i = 0; i < self->count; i++)
        if (same_place(&self->lines[i], row, spec)) return &self->lines[i];
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : 16;
        TableLine *lines = capacity <= 2 * LINES_MAX ? realloc(self->lines, capacity * sizeof *lines) : NULL;
        if (!lines) return NULL;
        self->lines = lines, self->capacity = capacity;
    }
    return self->count < LINES_MAX ? &self->lines[self->count++] : NULL;
}

/* A baseline is named by its id, or with tunables. */
static bool is_baseline(const Row *row) {
    return row->baseline && (strcmp(row->baseline, row->spec) == 0 || strcmp(row->baseline, row->variant) == 0);
}

void table_add(Table *self, const Row *row) {
    const ModeTiming *timing = NULL;
    Mode mode = MODE_COLD;
    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER && row->timed && !timing; i++)
        if (row->timing[ORDER[i]].count > 0) mode = ORDER[i], timing = &row->timing[mode];
    if (!timing) return;
    const char *slash = strchr(row->spec, '/'), *spec = slash ? slash + 1 : row->spec;
    TableLine *line = place_of(self, row, spec);
    if (!line) {
        self->full = true;
        return;
    }
    *line = (TableLine){.baseline = is_baseline(row),
                        .on_one_input = row_on_one_input(row),
                        .mode = mode,
                        .median = timing->stats.median,
                        .low = timing->stats.low,
                        .high = timing->stats.high,
                        .share = timing->limit.kernel[0] ? timing->limit.share : NAN,
                        .bytes_per_second = timing->bytes_per_second};
    snprintf(line->text, sizeof line->text, "%s", row->text);
    snprintf(line->spec, sizeof line->spec, "%s", spec);
}

static int by_time(const void *a, const void *b) {
    const TableLine *first = a, *second = b;
    return (first->median > second->median) - (first->median < second->median);
}

/* "cpu_best is 2.44x (2.40x to 2.50x) as fast as cpu_online.": the two fastest whose times count. */
static void print_winner(const TableLine *lines, size_t count) {
    const TableLine *two[2];
    size_t found = 0;
    for (size_t i = 0; i < count && found < 2; i++)
        if (!lines[i].on_one_input && lines[i].mode == lines[0].mode) two[found++] = &lines[i];
    if (found < 2) return;
    const double ratio = two[1]->median / two[0]->median, low = two[1]->low / two[0]->high, high = two[1]->high / two[0]->low;
    char first[CASE_TEXT_MAX];
    snprintf(first, sizeof first, "%s", foreign_shown(two[0]->spec));
    if (low > 1)
        printf("%s is the fastest: %.3gx (%.3gx to %.3gx) as fast as %s, the next.\n", first, ratio, low, high,
               foreign_shown(two[1]->spec));
    else
        printf("%s and %s are equally fast within their intervals: %.3gx (%.3gx to %.3gx).\n", first, foreign_shown(two[1]->spec),
               ratio, low, high);
}

static void print_line(const TableLine *line, const TableLine *baseline, int width) {
    const Unit unit = unit_of(line->median);
    char time[32], interval[48], share[16] = "-", rate[16] = "-", times[16] = "-";
    table_seconds(line->median, time);
    snprintf(interval, sizeof interval, "%.3g..%.3g", line->low / unit.seconds, line->high / unit.seconds);
    if (isfinite(line->share)) snprintf(share, sizeof share, "%.0f%%", 100 * line->share);
    if (isfinite(line->bytes_per_second)) snprintf(rate, sizeof rate, "%.3g", line->bytes_per_second / 1e9);
    if (line->mode == baseline->mode) snprintf(times, sizeof times, "%.3gx", baseline->median / line->median);
    printf("%-*.*s %8s %12s %5s %6s %8s%s\n", width, width, foreign_shown(line->spec), time, interval, share, rate, times,
           line->on_one_input ? " (one input)" : "");
}

/* The lines of one case, the fastest first. */
static void print_case(const TableLine *lines, size_t count) {
    const TableLine *baseline = &lines[count - 1];
    int width = 7;
    for (size_t i = 0; i < count; i++) {
        const int length = (int)strlen(lines[i].spec);
        if (lines[i].baseline) baseline = &lines[i];
        if (length > width) width = length < SPEC_COLUMNS ? length : SPEC_COLUMNS;
    }
    printf("%s\n", foreign_shown(lines[0].text));
    printf("%-*s %8s %12s %5s %6s %8s\n", width, "variant", mode_name(lines[0].mode), "interval", "limit", "GB/s", "speed-up");
    for (size_t i = 0; i < count; i++) print_line(&lines[i], baseline, width);
    print_winner(lines, count);
    putchar('\n');
}

void table_print(const Table *self) {
    if (self->full || self->count == 0) return;
    bool *printed = calloc(self->count, sizeof *printed);
    TableLine *some = calloc(self->count, sizeof *some);
    for (size_t i = 0; i < self->count && printed && some; i++) {
        size_t count = 0;
        if (printed[i]) continue;
        for (size_t j = i; j < self->count; j++)
            if (strcmp(self->lines[i].text, self->lines[j].text) == 0) some[count++] = self->lines[j], printed[j] = true;
        qsort(some, count, sizeof *some, by_time);
        print_case(some, count);
    }
    free(printed), free(some);
}

void table_free(Table *self) {
    free(self->lines);
    *self = (Table){0};
}
