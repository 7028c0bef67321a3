/* Atomics and fences: another thread may run before or after one, never within. */
#include "emulator/address.h"
#include "emulator/fault.h"
#include "emulator/fiber.h"
#include "emulator/race.h"
#include "emulator/sanitizer.h"

void emulator_atomic(const void *address, size_t bytes, EmulatorAccess access, EmulatorSite site) {
    char what[ADDRESS_TEXT_MAX];
    if (!engine.current) fault_at("device function called by host code", site, NULL, "an atomic operation outside a kernel");
    engine.current->site = site;
    emulator_pause();
    if ((uintptr_t)address % bytes)
        fault_at("misaligned address", site, NULL, "an atomic operation of %zu bytes at %s", bytes,
                 address_describe(address, what));
    const void *bad = sanitizer_first_forbidden(address, bytes);
    if (bad) fault_at("out of bounds", site, NULL, "an atomic operation of %zu bytes at %s", bytes, address_describe(bad, what));
    race_synchronising_access(address, bytes, access, NULL, site);
}

void emulator_fence(EmulatorScope scope) {
    if (!engine.current) return;
    race_fence(scope);
    emulator_pause();
}

void emulator_check_alignment(const void *address, size_t alignment) {
    char what[ADDRESS_TEXT_MAX];
    if ((uintptr_t)address % alignment)
        fault_at("misaligned address", (EmulatorSite){0}, __builtin_return_address(0), "%s is no multiple of %zu",
                 address_describe(address, what), alignment);
}
