/* scan_cpu_support.h - runs a CPU variant on a case into exactly sized, guarded, poisoned memory, and compares with the reference.
 */
#pragma once

#include <math.h>

#include "scan_support.h"

#include "variant_support.h"

typedef struct ScanVariant {
    const char *name;
    const char *id;
} ScanVariant;

enum { SCAN_GUARD = 64, SCAN_POISON = 0xc5 };

/* Memory with a guard on both sides, all of it poison; release with scan_unguard, which checks the guards. */
static inline void *scan_guard(size_t bytes) {
    unsigned char *memory = aligned_alloc(64, (bytes + 2 * SCAN_GUARD + 63) / 64 * 64);
    memset(memory, SCAN_POISON, bytes + 2 * SCAN_GUARD);
    return memory + SCAN_GUARD;
}

static inline void scan_unguard(const char *text, void *guarded, size_t bytes) {
    unsigned char *memory = (unsigned char *)guarded - SCAN_GUARD;
    for (size_t g = 0; g < SCAN_GUARD; g++)
        if (memory[g] != SCAN_POISON || memory[SCAN_GUARD + bytes + g] != SCAN_POISON)
            fail_msg("%s: wrote outside its memory", text);
    free(memory);
}

/* False with the reason if the variant refuses the case. threads: NULL, or the tunable's value. */
static inline bool scan_run(const Variant *variant, Scan *self, const char *threads, char reason[REASON_MAX]) {
    Params tunables;
    assert_int_equal(params_init(variant->tunables, &tunables), STATUS_OK);
    if (threads && params_has(&tunables, "threads")) assert_int_equal(params_set(&tunables, "threads", threads), STATUS_OK);
    Array out[OP_MAX_ARRAYS];
    VariantArgs args = {.problem = &self->problem, .tunables = &tunables, .in = self->in, .in_count = self->op->in_count};
    args.out = out;
    args.out_count = self->op->out_count;
    memcpy(out, self->out, sizeof out);
    if (variant->supports && !variant->supports(&args, reason)) return false;
    for (int i = 0; i < args.out_count; i++) out[i].data = scan_guard(array_bytes(&out[i]));
    args.scratch_bytes = variant->scratch_bytes ? variant->scratch_bytes(&args) : 0;
    args.scratch = scan_guard(args.scratch_bytes);
    if (variant->run(&args) != STATUS_OK) fail_msg("%s: %s", self->text, status_message());
    scan_unguard(self->text, args.scratch, args.scratch_bytes);
    for (int i = 0; i < args.out_count; i++) {
        memcpy(self->out[i].data, out[i].data, array_bytes(&out[i]));
        scan_unguard(self->text, out[i].data, array_bytes(&out[i]));
    }
    return true;
}

/* The variant keeps the op's own bound on the case, whose reference is there. */
static inline void scan_check(const ScanVariant *tested, Scan *self, const char *threads) {
    char why[512], reason[REASON_MAX] = "";
    if (!scan_run(variant_of(tested->id), self, threads, reason))
        fail_msg("%s on %s: refused: %s", tested->name, self->text, reason);
    for (int i = 0; i < self->op->out_count; i++)
        if (!scan_passes(self, i, why, sizeof why))
            fail_msg("%s on %s, threads %s: %s", tested->name, self->text, threads ? threads : "-", why);
}
