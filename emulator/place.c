/* Code is named by its distance from this file's own code, sites by their index in a small table; the top bit tells which. */
#include "emulator/place.h"

#include "emulator/fault.h"
#include "emulator/symbol.h"

#include <stdio.h>

enum { SITES_MAX = 1024 };
static const uint32_t IS_SITE = UINT32_C(1) << 31, MIDDLE = UINT32_C(1) << 30;
static EmulatorSite sites[SITES_MAX];
static uint32_t site_count;

static uintptr_t origin(void) {
    return (uintptr_t)&place_of_code;
}

uint32_t place_of_code(const void *pc) {
    return (uint32_t)((uintptr_t)pc - origin() + MIDDLE) & ~IS_SITE;
}

uint32_t place_of_site(EmulatorSite site) {
    for (uint32_t i = 0; i < site_count; i++)
        if (sites[i].file == site.file && sites[i].line == site.line) return IS_SITE | i;
    if (site_count < SITES_MAX) sites[site_count++] = site;
    return IS_SITE | (site_count - 1);
}

const char *place_text(uint32_t place, char *text, size_t size) {
    if (place & IS_SITE) return fault_site_text(sites[place & ~IS_SITE], text, size);
    return symbol_line((const void *)(origin() + place - MIDDLE), text, size);
}
