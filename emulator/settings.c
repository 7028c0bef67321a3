#include "emulator/fiber.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EmulatorSettings emulator_settings = {
    .seed = 1, .order = ORDER_RANDOM, .resident_blocks = 4, .watchdog_seconds = 60, .uninitialised = true};

static const char *const ORDERS[] = {"sequential", "reverse", "random"};

static Status read_integer(const char *variable, long long min, long long max, long long *out) {
    const char *text = getenv(variable);
    if (!text) return STATUS_OK;
    long long value;
    if (!text_integer(text, &value) || value < min || value > max)
        return status_fail(STATUS_INVALID, "%s='%s': an integer from %lld to %lld is wanted", variable, text, min, max);
    *out = value;
    return STATUS_OK;
}

static Status read_order(void) {
    const char *text = getenv("RUNGS_EMULATOR_ORDER");
    if (!text) return STATUS_OK;
    for (int i = 0; i < 3; i++)
        if (strcmp(text, ORDERS[i]) == 0) {
            emulator_settings.order = (EmulatorOrder)i;
            return STATUS_OK;
        }
    return status_fail(STATUS_INVALID, "RUNGS_EMULATOR_ORDER='%s': sequential, reverse or random is wanted", text);
}

Status settings_read(void) {
    long long seed = (long long)emulator_settings.seed, blocks = emulator_settings.resident_blocks;
    long long watchdog = (long long)emulator_settings.watchdog_seconds, uninitialised = emulator_settings.uninitialised;
    TRY(read_integer("RUNGS_EMULATOR_SEED", 0, 1LL << 52, &seed));
    TRY(read_integer("RUNGS_EMULATOR_BLOCKS", 1, RESIDENT_MAX, &blocks));
    TRY(read_integer("RUNGS_EMULATOR_WATCHDOG", 1, 1000000, &watchdog));
    TRY(read_integer("RUNGS_EMULATOR_INIT", 0, 1, &uninitialised));
    TRY(read_order());
    emulator_settings.seed = (uint64_t)seed;
    emulator_settings.resident_blocks = (int)blocks;
    emulator_settings.watchdog_seconds = (double)watchdog;
    emulator_settings.uninitialised = uninitialised != 0;
    return STATUS_OK;
}

const char *settings_replay(void) {
    static char text[128];
    snprintf(text, sizeof text, "RUNGS_EMULATOR_SEED=%llu RUNGS_EMULATOR_ORDER=%s RUNGS_EMULATOR_BLOCKS=%d",
             (unsigned long long)emulator_settings.seed, ORDERS[emulator_settings.order], emulator_settings.resident_blocks);
    return text;
}
