#include "emulator/unwritten.h"

#include "emulator/address.h"
#include "emulator/arena.h"
#include "emulator/fault.h"
#include "emulator/symbol.h"

#include <stdio.h>

static struct {
    bool noted, in_shared;
    uint64_t block;
    char text[ADDRESS_TEXT_MAX + 768];
} first;

void unwritten_note(const void *address, size_t bytes, const void *pc, EmulatorSite site) {
    if (first.noted || !emulator_settings.uninitialised) return;
    char what[ADDRESS_TEXT_MAX], where[512], thread[PLACE_MAX], block[PLACE_MAX];
    const Fiber *self = engine.current;
    first.noted = true;
    first.in_shared = !arena_contains(address);
    first.block = self->block->linear;
    snprintf(first.text, sizeof first.text, "thread %s of block %s read %zu bytes at %s that were not all written before, at %s",
             fault_thread_text(self->index, thread), fault_thread_text(self->block->index, block), bytes,
             address_describe(address, what),
             site.file ? fault_site_text(site, where, sizeof where) : symbol_line(pc, where, sizeof where));
}

void unwritten_report(const Block *ending) {
    if (!first.noted || (ending && (!first.in_shared || first.block != ending->linear))) return;
    first.noted = false;
    engine.current = NULL; /* the last thread that ended is not the cause */
    fault_at("uninitialised read", (EmulatorSite){0}, NULL, "%s", first.text);
}

void unwritten_forget(void) {
    first.noted = false;
}

const char *unwritten_pending(void) {
    return first.noted ? first.text : NULL;
}
