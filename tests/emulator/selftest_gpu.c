/* The clean self tests on a real GPU: what they, and so the emulator, take for CUDA must be what CUDA does. 77 (skipped) without a
 * GPU. */
#include "selftest.h"

#include <stdio.h>

int main(void) {
    static const SelfTest *const CLEAN[] = {CLEAN_BLOCK, CLEAN_WARP,    CLEAN_ATOMIC, CLEAN_GRID,   CLEAN_CUB,    CLEAN_AFFINE,
                                            CLEAN_HEAP,  CLEAN_OFFSETS, CLEAN_SCOPES, CLEAN_LITMUS, CLEAN_COPIES, CLEAN_STRINGS};
    enum { REPEATS = 20 };
    char why[256] = "";
    if (device_cuda_count(why, sizeof why) == 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    const Device *device = device_cuda();
    int checks = 0, failures = 0;
    Status opened = device->open(0);
    for (size_t i = 0; opened == STATUS_OK && i < sizeof CLEAN / sizeof *CLEAN; i++)
        for (const SelfTest *test = CLEAN[i]; test->name; test++)
            for (int repeat = 0; repeat < REPEATS; repeat++) {
                checks++;
                if (test->run(device) == STATUS_OK) continue;
                failures++;
                printf("FAIL %s: %s\n", test->name, status_message());
            }
    if (opened != STATUS_OK) printf("FAIL: %s\n", status_message());
    printf("%d checks, %d failed\n", checks, failures);
    return failures > 0 || checks == 0;
}
