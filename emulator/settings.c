#include "emulator/fiber.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EmulatorSettings emulator_settings = {.seed = 1,
                                      .order = ORDER_RANDOM,
                                      .resident_blocks = 4,
                                      .watchdog_seconds = 60,
                                      .uninitialised = CLASS_ERROR,
                                      .same_value = CLASS_ERROR,
                                      .unset_copies = CLASS_NOTE,
                                      .schedules = 1,
                                      .relaxed_volatile = 1};

static const char *const ORDERS[] = {"sequential", "reverse", "random"};

static const struct {
    const char *variable;
    long long min, max, *value;
} INTEGERS[] = {
    {"RUNGS_EMULATOR_SEED", 0, 1LL << 52, &emulator_settings.seed},
    {"RUNGS_EMULATOR_BLOCKS", 1, RESIDENT_MAX, &emulator_settings.resident_blocks},
    {"RUNGS_EMULATOR_WATCHDOG", 1, 1000000, &emulator_settings.watchdog_seconds},
    {"RUNGS_EMULATOR_INIT", 0, 2, &emulator_settings.uninitialised},
    {"RUNGS_EMULATOR_SAME_VALUE", 0, 2, &emulator_settings.same_value},
    {"RUNGS_EMULATOR_UNSET_COPIES", 0, 2, &emulator_settings.unset_copies},
    {"RUNGS_EMULATOR_SCHEDULES", 1, 1000, &emulator_settings.schedules},
    {"RUNGS_EMULATOR_VOLATILE", 0, 1, &emulator_settings.relaxed_volatile},
};

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
    for (size_t i = 0; i < sizeof INTEGERS / sizeof *INTEGERS; i++) {
        const char *variable = INTEGERS[i].variable, *text = getenv(variable);
        const long long min = INTEGERS[i].min, max = INTEGERS[i].max;
        if (text && (!text_integer(text, INTEGERS[i].value) || *INTEGERS[i].value < min || *INTEGERS[i].value > max))
            return status_fail(STATUS_INVALID, "%s='%s': an integer from %lld to %lld is wanted", variable, text, min, max);
    }
    return read_order();
}

const char *settings_replay(void) {
    static char text[192];
    const int used = snprintf(text, sizeof text, "RUNGS_EMULATOR_SEED=%lld RUNGS_EMULATOR_ORDER=%s RUNGS_EMULATOR_BLOCKS=%lld",
                              emulator_settings.seed, ORDERS[emulator_settings.order], emulator_settings.resident_blocks);
    if (emulator_settings.schedules > 1)
        snprintf(text + used, sizeof text - (size_t)used, " RUNGS_EMULATOR_SCHEDULES=%lld", emulator_settings.schedules);
    return text;
}
