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

/* Three digits, and all of a large number's. */
static const char *digits(double value, char text[16]) {
    snprintf(text, 16, fabs(value) >= 999.5 && fabs(value) < 1e7 ? "%.0f" : "%.3g", value);
    return text;
}

void table_seconds(double seconds, char text[32]) {
    const Unit unit = unit_of(seconds);
    char number[16];
    snprintf(text, 32, "%s %s", digits(seconds / unit.seconds, number), unit.name);
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
    if (found < 2 || lines[0].mode == MODE_FIRST) return; /* a first call is one sample */
    const double ratio = two[1]->median / two[0]->median, low = two[1]->low / two[0]->high, high = two[1]->high / two[0]->low;
    char first[CASE_TEXT_MAX], times[64], of[3][16];
    snprintf(first, sizeof first, "%s", foreign_shown(two[0]->spec));
    snprintf(times, sizeof times, "%sx (%sx to %sx)", digits(ratio, of[0]), digits(low, of[1]), digits(high, of[2]));
    if (low > 1)
        printf("%s is the fastest: %s as fast as %s, the next.\n", first, times, foreign_shown(two[1]->spec));
    else
        printf("%s and %s are equally fast within their intervals: %s.\n", first, foreign_shown(two[1]->spec), times);
}

typedef struct Numbers {
    char time[32], interval[48], share[16], rate[16];
} Numbers;

static Numbers numbers_of(const TableLine *line) {
    Numbers shown = {.share = "-", .rate = "-"};
    const Unit unit = unit_of(line->median);
    table_seconds(line->median, shown.time);
    char low[16], high[16];
    snprintf(shown.interval, sizeof shown.interval, "%s..%s", digits(line->low / unit.seconds, low),
             digits(line->high / unit.seconds, high));
    if (isfinite(line->share)) snprintf(shown.share, sizeof shown.share, "%.0f%%", 100 * line->share);
    if (isfinite(line->bytes_per_second)) digits(line->bytes_per_second / 1e9, shown.rate);
    return shown;
}

static void print_line(const TableLine *line, const TableLine *baseline, int width) {
    const Numbers shown = numbers_of(line);
    char number[16], times[20] = "-";
    if (line->mode == baseline->mode) snprintf(times, sizeof times, "%sx", digits(baseline->median / line->median, number));
    printf("%-*.*s %8s %12s %5s %6s %8s%s\n", width, width, foreign_shown(line->spec), shown.time, shown.interval, shown.share,
           shown.rate, times, line->on_one_input ? " (one input)" : "");
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

/* ---- Cases with one variant each: a line for each, under what all of an op have. */
bool table_has_word(const char *text, const char *word, size_t length) {
    for (const char *at = text; *at; at += strspn(at, " ")) {
        const size_t found = strcspn(at, " ");
        if (found == length && strncmp(at, word, length) == 0) return true;
        at += found;
    }
    return false;
}

/* Appends the words of a case's parameters that all lines have, or the others. */
static void add_words(const TableLine *lines, size_t count, const char *text, bool shared, char *out, size_t size) {
    for (const char *word = text + strcspn(text, " "); *(word += strspn(word, " ")); word += strcspn(word, " ")) {
        const size_t length = strcspn(word, " "), used = strlen(out);
        size_t having = 0;
        while (having < count && table_has_word(lines[having].text, word, length)) having++;
        if ((having == count) == shared) snprintf(out + used, size - used, " %.*s", (int)length, word);
    }
}

static void print_cases(const TableLine *lines, size_t count) {
    char words[2 * CASE_TEXT_MAX];
    bool one_variant = true;
    for (size_t i = 1; i < count; i++) one_variant = one_variant && strcmp(lines[i].spec, lines[0].spec) == 0;
    snprintf(words, sizeof words, "%.*s%s%s", (int)strcspn(lines[0].text, " "), lines[0].text, one_variant ? "/" : "",
             one_variant ? lines[0].spec : "");
    add_words(lines, count, lines[0].text, true, words, sizeof words);
    printf("%s\n%8s %12s %5s %6s  case\n", foreign_shown(words), mode_name(lines[0].mode), "interval", "limit", "GB/s");
    for (const TableLine *line = lines; line < lines + count; line++) {
        snprintf(words, sizeof words, " %s", one_variant ? "" : line->spec);
        add_words(lines, count, line->text, false, words, sizeof words);
        const Numbers shown = numbers_of(line);
        printf("%8s %12s %5s %6s %s%s\n", shown.time, shown.interval, shown.share, shown.rate, foreign_shown(words),
               line->on_one_input ? " (one input)" : "");
    }
    putchar('\n');
}

typedef bool (*Alike)(const TableLine *one, const TableLine *two);

static bool same_case(const TableLine *one, const TableLine *two) {
    return strcmp(one->text, two->text) == 0;
}

static bool same_op_and_mode(const TableLine *one, const TableLine *two) {
    const size_t length = strcspn(one->text, " ") + 1;
    return one->mode == two->mode && strncmp(one->text, two->text, length) == 0;
}

static bool is_lone(const Table *self, const TableLine *line) {
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++) count += same_case(&self->lines[i], line);
    return count == 1;
}

void table_print(const Table *self) {
    if (self->full || self->count == 0) return;
    bool *printed = calloc(self->count, sizeof *printed);
    TableLine *some = calloc(self->count, sizeof *some);
    for (size_t i = 0; i < self->count && printed && some; i++) {
        const TableLine *line = &self->lines[i];
        const bool lone = is_lone(self, line);
        const Alike alike = lone ? same_op_and_mode : same_case;
        size_t count = 0;
        if (printed[i]) continue;
        for (size_t j = i; j < self->count; j++)
            if (alike(line, &self->lines[j]) && is_lone(self, &self->lines[j]) == lone)
                some[count++] = self->lines[j], printed[j] = true;
        if (!lone) qsort(some, count, sizeof *some, by_time);
        (lone && count > 1 ? print_cases : print_case)(some, count);
    }
    free(printed), free(some);
}

void table_free(Table *self) {
    free(self->lines);
    *self = (Table){0};
}
