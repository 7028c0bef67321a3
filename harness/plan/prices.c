#include "plan/prices.h"

#include "base/text.h"
#include "op.h"
#include "plan/case.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Fitted to the rows of published/ and sweeps/ that were timed on H200s: seconds_spent less the samples and the counting, by bytes
 * of the op's work model. */
static const Speeds H200 = {.gpu_bytes = 4.3e12, .cpu_bytes = 1.1e11};

/* Of the host, for each byte: inputs and reference of a case; transfers and comparisons of a row. */
typedef struct HostPrice {
    const char *op;
    double instance_per_byte, row_per_byte;
} HostPrice;
static const HostPrice HOST[] = {
    {"discounted_cumsum", 1.5e-9, 0.8e-9},
    {"discounted_cumsum_grad", 4e-9, 3e-9},
    {"ewm", 1.2e-8, 0.6e-9},
    {"moments", 1.5e-9, 0.7e-9},
    {"redact", 2e-9, 2.3e-9},
    {"rolling", 1e-9, 0.35e-9},
    {"", 1.5e-9, 1.5e-9}, /* any other */
};

/* Of a row beside its calls and bytes: its share of a worker's start, of the caches' flushes and of counting; torch.compile of a
 * shape. */
static const double CPU_SECONDS = 0.6, CUDA_SECONDS = 0.35, LIBRARY_SECONDS = 1.2, COMPILE_SECONDS = 18;

/* Calls that are slow enough to count: seconds for each byte. */
typedef struct CallPrice {
    const char *variants;
    double per_byte;
    bool per_window; /* of 3000 elements, each of which is read anew */
} CallPrice;
static const CallPrice CALLS[] = {
    {"*/peer_*loop*", 3.7e-6, false},
    {"moments/peer_scipy", 3e-8, false},
    {"moments/peer_numpy", 2.7e-8, false},
    {"moments/peer_pandas", 1.5e-8, false},
    {"moments/peer_torch_cpu", 5e-10, false},
    {"moments/cpu_power_sums_column_order", 2.5e-9, false},
    {"moments/cpu_*", 4e-10, false},
    {"redact/cuda_malloc_in_kernel", 2e-8, false},
    {"redact/peer_cudf*", 0, false},
    {"redact/peer_*", 1e-8, false},
    {"rolling/cuda_naive*", 8e-11, true},
    {"rolling/cuda_shared", 5e-11, true},
    {"rolling/cuda_thread_tile*", 2e-11, true},
    {"rolling/peer_numba_cuda_*", 1.5e-10, true},
    {"rolling/peer_cupy", 1e-10, true},
    {"rolling/peer_torch_pool", 6e-11, true},
    {"rolling/peer_pandas", 1.2e-9, false},
    {"rolling/peer_polars", 1e-9, false},
    {"rolling/peer_bottleneck", 1e-9, false},
    {"rolling/cpu_*", 2e-10, false},
    {"discounted_cumsum*/peer_scipy*", 2e-9, false},
    {"ewm/peer_pandas", 2e-9, false},
    {"ewm/peer_polars", 2e-9, false},
    {"ewm/peer_scipy*", 2e-9, false},
};
/* The first call and the one on other data; a slow call's samples in each mode; what counting calls. */
enum { CALLS_TO_VERIFY = 3, CALLS_OF_A_MODE = 3, CALLS_TO_COUNT = 5 };
/* Of samples, with what is done between them. */
static const double MODE_SECONDS = 0.08, MODE_PER_BYTE = 3e-10, MODE_MOST_SECONDS = 0.3;

enum { KNOWN_MOST = 4096 };

static int modes_of(const PlanItem *item, bool on_gpu) {
    int modes = 0;
    for (int m = 0; m < MODE_COUNT; m++) modes += m != MODE_FIRST && (item->modes & (1u << m));
    return on_gpu || modes < 2 ? modes : 2; /* a CPU has cold and hot */
}

static double call_seconds(const PlanItem *item, const char *id, double bytes) {
    const CallPrice *price = CALLS, *const end = CALLS + sizeof CALLS / sizeof *CALLS;
    while (price < end && !text_glob(price->variants, id)) price++;
    if (price == end) return 0;
    const Params *params = &item->problem.params;
    const double windows = price->per_window && params_has(params, "window") ? (double)params_int(params, "window") / 3000 : 1;
    return price->per_byte * bytes * windows;
}

static const HostPrice *host_of(const char *op) {
    const HostPrice *host = HOST;
    while (*host->op && strcmp(host->op, op) != 0) host++;
    return host;
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

double price_row(const PlanItem *item, const VariantChoice *choice, const Speeds *speeds) {
    const VariantEntry *entry = choice->entry;
    const bool on_gpu = entry->backend == BACKEND_CUDA || entry->needs_gpu;
    const double bytes = bytes_of(item);
    const int modes = modes_of(item, on_gpu);
    if (item->not_run) return 0;
    const double start = entry->backend == BACKEND_CUDA                 ? CUDA_SECONDS
                         : entry->backend == BACKEND_CPU                ? CPU_SECONDS
                         : text_glob("*/peer_torch_compile", entry->id) ? COMPILE_SECONDS
                                                                        : LIBRARY_SECONDS;
    const double call = call_seconds(item, entry->id, bytes);
    const bool counted = entry->backend == BACKEND_CUDA && call < 1;
    const int calls = CALLS_TO_VERIFY + CALLS_OF_A_MODE * modes + (counted ? CALLS_TO_COUNT : 0);
    return (start + host_of(item->problem.op)->row_per_byte * bytes) * slower_cpu(speeds) +
           (fmin(MODE_SECONDS + MODE_PER_BYTE * bytes, MODE_MOST_SECONDS) * modes + calls * call) *
               (on_gpu ? slower_gpu(speeds) : slower_cpu(speeds));
}

double price_instance(const PlanItem *item, const Speeds *speeds) {
    return item->not_run ? 0 : host_of(item->problem.op)->instance_per_byte * bytes_of(item) * slower_cpu(speeds);
}

double price_item(const PlanItem *item, const Speeds *speeds) {
    double seconds = price_instance(item, speeds);
    for (int v = 0; v < item->variant_count; v++) seconds += price_row(item, &item->variants[v], speeds) * fmax(1, item->processes);
    return seconds;
}
