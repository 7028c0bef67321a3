/* main.c - a worker whose CUDA device is the emulator. Settings come from the environment: see docs/EMULATOR.md. */
#include "emulator/fault.h"
#include "worker/worker.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (settings_read() != STATUS_OK) {
        fprintf(stderr, "rungs-emulator: %s\n", status_message());
        return 2;
    }
    return worker_main(argc, argv, NULL);
}
