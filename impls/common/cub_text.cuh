/* cub_text.cuh - the CUB that a variant was compiled with, "CUB 3.0.1", for its descriptor. */
#pragma once

#include <cub/device/device_scan.cuh>

#ifdef CUB_VERSION
/* CUB_VERSION is 300001 for 3.0.1, and no macro has its parts as digits. */
struct CubText {
    char text[16] = "CUB ";

    constexpr CubText() {
        const unsigned parts[] = {CUB_VERSION / 100000, CUB_VERSION / 100 % 1000, CUB_VERSION % 100};
        unsigned at = 4;
        for (unsigned part : parts) {
            if (at > 4) text[at++] = '.';
            for (unsigned unit = part < 10 ? 1 : part < 100 ? 10 : 100; unit > 0; unit /= 10)
                text[at++] = (char)('0' + part / unit % 10);
        }
    }
};
static constexpr CubText CUB_FOUND;
#define CUB_TEXT CUB_FOUND.text
#else /* the emulator's stand-in */
#define CUB_TEXT "CUB"
#endif
