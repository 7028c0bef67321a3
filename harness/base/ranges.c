#include "base/ranges.h"

RangesTool ranges_tool = RANGES_NOT_ASKED;

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 512 }; /* a tool's line has no room for more */
static nvtxDomainHandle_t domain;

bool ranges_built(void) {
    return true;
}

/* NVTX gives none where no tool answers. */
void *ranges_domain(void) {
    if (!domain) domain = nvtxDomainCreateA("rungs");
    return domain;
}

static void ask(void) {
    ranges_tool = getenv("NVTX_INJECTION64_PATH") && ranges_domain() ? RANGES_TOOL : RANGES_NO_TOOL;
}

void ranges_push(const char *kind, const char *name) {
    char text[NAME_MAX_BYTES];
    if (ranges_tool == RANGES_NOT_ASKED) ask();
    if (ranges_tool == RANGES_NO_TOOL) return;
    snprintf(text, sizeof text, "%s%s%s", kind, *kind ? " " : "", name);
    const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message = {.ascii = text}};
    (void)nvtxDomainRangePushEx(domain, &event);
}

void ranges_pop(void) {
    if (ranges_tool == RANGES_TOOL) (void)nvtxDomainRangePop(domain);
}
#else
#include <stddef.h>

bool ranges_built(void) {
    return false;
}

void *ranges_domain(void) {
    return NULL;
}

void ranges_push(const char *kind, const char *name) {
    (void)kind, (void)name;
    ranges_tool = RANGES_NO_TOOL;
}

void ranges_pop(void) {}
#endif
