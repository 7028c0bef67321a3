/* main.c - a worker whose CUDA device is the emulator, or a program as it is: "--program MODULE NAME ARGUMENTS". Settings come from
 * the environment: see docs/EMULATOR.md. */
#include "emulator/fault.h"
#include "emulator/program.h"
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (settings_read() != STATUS_OK) {
        fprintf(stderr, "rungs-emulator: %s\n", status_message());
        return 2;
    }
    if (argc > 3 && strcmp(argv[1], "--program") == 0) return program_main(argv[2], argc - 3, argv + 3);
    return worker_main(argc, argv, NULL);
}
