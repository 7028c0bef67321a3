/* settings.h - how a run is scheduled; together with the program's input it decides everything, so a failure can be replayed. */
#ifndef RUNGS_EMULATOR_SETTINGS_H
#define RUNGS_EMULATOR_SETTINGS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum EmulatorOrder { ORDER_SEQUENTIAL, ORDER_REVERSE, ORDER_RANDOM } EmulatorOrder;

enum { RESIDENT_MAX = 16 };

typedef struct EmulatorSettings {
    uint64_t seed;           /* RUNGS_EMULATOR_SEED */
    EmulatorOrder order;     /* RUNGS_EMULATOR_ORDER=sequential|reverse|random */
    int resident_blocks;     /* RUNGS_EMULATOR_BLOCKS: how many blocks run at once */
    double watchdog_seconds; /* RUNGS_EMULATOR_WATCHDOG: CPU seconds without progress until a launch counts as hung */
    bool uninitialised;      /* RUNGS_EMULATOR_INIT=0 switches the report of uninitialised reads off (race builds) */
} EmulatorSettings;

extern EmulatorSettings emulator_settings;

/* From the environment. STATUS_INVALID names the variable, its text and what is allowed. */
Status settings_read(void);
/* The variables that bring this run back: "RUNGS_EMULATOR_SEED=7 ...". */
const char *settings_replay(void);

#endif
