/* An NVTX profiler for tests: NVTX_INJECTION64_PATH names its library. Whenever the last range was closed, and at the end of the
 * process, it writes one line to the file RANGES_FILE.PID, for not every process runs its exit handlers: how many ranges of the
 * domain "rungs" were opened and closed, how deep they got, whether one was closed that was not open, and their names in the order
 * of their first openings, each with how often it was opened. */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 64, NAME_MAX_BYTES = 256, DOMAINS_MAX = 64 };

static char names[NAMES_MAX][NAME_MAX_BYTES];
static int times[NAMES_MAX];
static char domains[DOMAINS_MAX]; /* handles point here: 1 where the domain is ours */
static int name_count, domain_count, ours, opened, closed, depth, deepest, unopened, foreign;

static nvtxDomainHandle_t NVTX_API create_domain(const char *name) {
    if (domain_count == DOMAINS_MAX) abort();
    domains[domain_count] = strcmp(name, "rungs") == 0;
    ours += domains[domain_count];
    return (nvtxDomainHandle_t)(void *)&domains[domain_count++];
}

static int is_ours(nvtxDomainHandle_t domain) {
    const char *handle = (const char *)(const void *)domain;
    return handle && *handle;
}

static void remember(const char *name) {
    for (int i = 0; i < name_count; i++)
        if (strcmp(names[i], name) == 0) {
            times[i]++;
            return;
        }
    if (name_count == NAMES_MAX) abort();
    times[name_count] = 1;
    snprintf(names[name_count++], NAME_MAX_BYTES, "%s", name);
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
    if (!is_ours(domain)) return foreign++;
    opened++;
    remember(event->messageType == NVTX_MESSAGE_TYPE_ASCII && event->message.ascii ? event->message.ascii : "?");
    if (++depth > deepest) deepest = depth;
    return depth - 1;
}

static void tell(void) {
    const char *path = getenv("RANGES_FILE");
    char own[4096];
    snprintf(own, sizeof own, "%s.%d", path ? path : "", (int)getpid());
    FILE *file = path ? fopen(own, "w") : NULL;
    if (!file) return;
    fprintf(file, "domains=%d opened=%d closed=%d left_open=%d unopened=%d deepest=%d foreign=%d names=", ours, opened, closed,
            depth, unopened, deepest, foreign);
    for (int i = 0; i < name_count; i++) fprintf(file, "%s%s*%d", i ? "," : "", names[i], times[i]);
    fprintf(file, "\n");
    fclose(file);
}

static int NVTX_API pop(nvtxDomainHandle_t domain) {
    if (!is_ours(domain)) return 0;
    closed++;
    if (depth == 0) unopened++;
    if (depth > 0) depth--;
    if (depth == 0) tell();
    return depth;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned int size = 0;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
    if (size <= NVTX_CBID_CORE2_DomainCreateA) return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return atexit(tell) == 0;
}
