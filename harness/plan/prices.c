#include "plan/prices.h"

#include "base/places.h"
#include "base/text.h"
#include "op.h"
#include "plan/case.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Speeds H200 = {.gpu_bytes = 4.3e12, .cpu_bytes = 1.3e11}; /* the machine of the prices */

/* A line of scenarios/prices.txt, which says what each kind means. */
typedef struct Price {
    char kind[8], names[64];
    double seconds, second;
} Price;
/* Of what the file does not name, by backend. */
static const double START_SECONDS[] = {[BACKEND_CPU] = 0.05, [BACKEND_CUDA] = 0.3, [BACKEND_PEER] = 1};
static const double ROW_SECONDS[] = {[BACKEND_CPU] = 0.4, [BACKEND_CUDA] = 0.15, [BACKEND_PEER] = 0.3};
static const double COUNT_SECONDS = 0.45; /* beside the calls, with its share of the start of a worker that counts */
static const Price OTHER_HOST = {.kind = "host", .seconds = 1.5e-9, .second = 1.5e-9};

enum { PRICES_MOST = 256 };
static Price prices[PRICES_MOST];
static int price_count;

static bool read_line(const char *line, Price *price) {
    char rest;
    *price = (Price){0};
    const int found = sscanf(line, "%7s %63s %lf %lf %c", price->kind, price->names, &price->seconds, &price->second, &rest);
    const bool host = strcmp(price->kind, "host") == 0;
    static const char *const OTHERS[] = {"start", "row", "call", "window"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(price->kind, OTHERS[i]) == 0) return found == 3;
    return host && found == 4;
}

static Status read_lines(const char *path, char *text) {
    for (int number = 1; *text; number++) {
        char *const line = text, *const end = line + strcspn(line, "\n");
        text = *end ? end + 1 : end;
        *end = '\0';
        if (*line == '#' || line == end) continue;
        if (price_count == PRICES_MOST) return status_fail(STATUS_INVALID, "%s:%d: more than %d prices", path, number, PRICES_MOST);
        if (!read_line(line, &prices[price_count++]))
            return status_fail(STATUS_INVALID,
                               "%s:%d: '%.80s' is no price; 'call VARIANTS SECONDS' is expected, or host, start, row, window", path,
                               number, line);
    }
    return STATUS_OK;
}

Status prices_read(void) {
    const char *const path = places_project("scenarios/prices.txt");
    char *text = NULL;
    size_t length = 0;
    price_count = 0;
    if (access(path, F_OK) != 0) return STATUS_OK;
    TRY(text_read_file(path, &text, &length));
    const Status status = read_lines(path, text);
    free(text);
    return status;
}

/* The first line of the kind, or of the other kind, whose pattern matches; NULL: none. */
static const Price *find_price(const char *kind, const char *other, const char *name) {
    for (const Price *price = prices; price < prices + price_count; price++)
        if ((strcmp(price->kind, kind) == 0 || strcmp(price->kind, other) == 0) && text_glob(price->names, name)) return price;
    return NULL;
}

/* The first call and the one on other data; a slow call's samples in each mode; what counting calls. */
enum { CALLS_TO_VERIFY = 3, CALLS_OF_A_MODE = 3, CALLS_TO_COUNT = 5 };
/* Of samples, with what is done between them. */
static const double MODE_SECONDS = 0.05, MODE_PER_BYTE = 2e-10, MODE_MOST_SECONDS = 0.2;

enum { KNOWN_MOST = 4096 };

static int modes_of(const PlanItem *item, bool on_gpu) {
    int modes = 0;
    for (int m = 0; m < MODE_COUNT; m++) modes += m != MODE_FIRST && (item->modes & (1u << m));
    return on_gpu || modes < 2 ? modes : 2; /* a CPU has cold and hot */
}

static double call_seconds(const PlanItem *item, const char *id, double bytes) {
    const Price *price = find_price("call", "window", id);
    if (!price) return 0;
    const Params *params = &item->problem.params;
    const bool windows = strcmp(price->kind, "window") == 0 && params_has(params, "window");
    return price->seconds * bytes * (windows ? (double)params_int(params, "window") / 3000 : 1);
}

static const Price *host_of(const char *op) {
    const Price *host = find_price("host", "host", op);
    return host ? host : &OTHER_HOST;
}

static double start_seconds(const VariantEntry *entry) {
    const Price *start = find_price("start", "start", entry->id);
    return start ? start->seconds : START_SECONDS[entry->backend];
}

static double row_seconds(const VariantEntry *entry) {
    const Price *row = find_price("row", "row", entry->id);
    return row ? row->seconds : ROW_SECONDS[entry->backend];
}

/* Of the op's work model. Some ops look at every row to tell, and a campaign asks often. */
static double bytes_of(const PlanItem *item) {
    static json_t *known; /* by case */
    char problem[CASE_TEXT_MAX];
    case_format(&item->problem, problem, sizeof problem);
    if (!known) known = json_object();
    const json_t *found = json_object_get(known, problem);
    if (found) return json_real_value(found);
    const double bytes = registry_op(item->problem.op)->work(&item->problem).bytes;
    if (json_object_size(known) >= KNOWN_MOST) json_object_clear(known);
    json_object_set_new(known, problem, json_real(bytes)); /* without memory it is asked again */
    return bytes;
}

/* How much slower than the host that the prices are of; a faster one is not trusted to gain more than twice. */
static double slower_cpu(const Speeds *speeds) {
    return speeds->cpu_bytes > 0 ? fmax(H200.cpu_bytes / speeds->cpu_bytes, 0.5) : 1;
}

static double slower_gpu(const Speeds *speeds) {
    return fmax(slower_cpu(speeds), speeds->gpu_bytes > 0 ? H200.gpu_bytes / speeds->gpu_bytes : 0);
}

/* Of a row's first process only. */
static double count_seconds(const PlanItem *item, const VariantEntry *entry, const Speeds *speeds) {
    const double call = call_seconds(item, entry->id, bytes_of(item));
    if (item->not_run || item->uncounted || entry->backend != BACKEND_CUDA || call >= 1) return 0;
    return COUNT_SECONDS * slower_cpu(speeds) + CALLS_TO_COUNT * call * slower_gpu(speeds);
}

double price_start(const VariantChoice *choice, const Speeds *speeds) {
    return start_seconds(choice->entry) * slower_cpu(speeds);
}

double price_further(const PlanItem *item, const VariantChoice *choice, const Speeds *speeds) {
    const VariantEntry *entry = choice->entry;
    const bool on_gpu = entry->backend == BACKEND_CUDA || entry->needs_gpu;
    const double bytes = bytes_of(item);
    const int modes = modes_of(item, on_gpu), calls = CALLS_TO_VERIFY + CALLS_OF_A_MODE * modes;
    if (item->not_run) return 0;
    return (row_seconds(entry) + host_of(item->problem.op)->second * bytes) * slower_cpu(speeds) +
           (fmin(MODE_SECONDS + MODE_PER_BYTE * bytes, MODE_MOST_SECONDS) * modes + calls * call_seconds(item, entry->id, bytes)) *
               (on_gpu ? slower_gpu(speeds) : slower_cpu(speeds));
}

double price_row(const PlanItem *item, const VariantChoice *choice, const Speeds *speeds) {
    const double further = price_further(item, choice, speeds);
    return item->not_run ? 0 : price_start(choice, speeds) + count_seconds(item, choice->entry, speeds) + further;
}

static const char *bound_of(const PlanItem *item, int variant) {
    const char *bound = item->declared_bounds ? item->variants[variant].entry->variant->bound : NULL;
    return bound ? bound : "";
}

/* One for each bound that a variant is judged by. */
static int reference_count(const PlanItem *item) {
    int count = 0;
    for (int v = 0; v < item->variant_count; v++) {
        bool known = false;
        for (int i = 0; i < v && !known; i++) known = strcmp(bound_of(item, i), bound_of(item, v)) == 0;
        count += !known;
    }
    return count;
}

double price_instance(const PlanItem *item, const Speeds *speeds) {
    return item->not_run ? 0 : host_of(item->problem.op)->seconds * bytes_of(item) * slower_cpu(speeds) * reference_count(item);
}

double price_item(const PlanItem *item, const Speeds *speeds) {
    double seconds = price_instance(item, speeds);
    for (int v = 0; v < item->variant_count; v++) {
        const double processes = fmax(1, item->processes);
        seconds += price_row(item, &item->variants[v], speeds) * processes -
                   count_seconds(item, item->variants[v].entry, speeds) * (processes - 1);
    }
    return seconds;
}
