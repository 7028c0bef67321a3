/* The program itself has no emulator; the emulator's executables define their own device_emulator(), which outweighs this one. */
#include "device/device.h"

__attribute__((weak)) const Device *device_emulator(void) {
    return NULL;
}
