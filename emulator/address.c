#include "emulator/address.h"

#include "emulator/arena.h"
#include "emulator/sanitizer.h"
#include "emulator/shared.h"
#include "emulator/symbol.h"

#include <stdio.h>

/* To AddressSanitizer a variable's symbol covers its red zone too. */
static size_t own_bytes(const unsigned char *begin, size_t bytes) {
    const unsigned char *red_zone = sanitizer_first_forbidden(begin, bytes);
    return red_zone ? (size_t)(red_zone - begin) : bytes;
}

/* The variable that holds the address, or else the nearest one below. */
static bool describe_static(const unsigned char *address, char *text) {
    enum { NEAR = 4096 };
    char name[384];
    size_t offset, bytes, distance = 0;
    if (!shared_is_static(address)) return false;
    while (distance < NEAR && !symbol_variable(address - distance, name, sizeof name, &offset, &bytes)) distance++;
    if (distance == NEAR) {
        snprintf(text, ADDRESS_TEXT_MAX, "an address between __shared__ variables");
        return true;
    }
    offset += distance;
    bytes = own_bytes(address - offset, bytes);
    if (offset < bytes)
        snprintf(text, ADDRESS_TEXT_MAX, "byte %zu of the __shared__ variable %s (%zu bytes)", offset, name, bytes);
    else
        snprintf(text, ADDRESS_TEXT_MAX, "%zu bytes past the end of the __shared__ variable %s (%zu bytes)", offset - bytes, name,
                 bytes);
    return true;
}

static bool describe_dynamic(const unsigned char *address, char *text) {
    const Block *block = shared_dynamic_owner(address);
    if (!block) return false;
    const size_t bytes = engine.launch ? engine.launch->shared_bytes : 0;
    if (!block->shared || !engine.current || block != engine.current->block) {
        snprintf(text, ADDRESS_TEXT_MAX, "the dynamic shared memory of another block");
        return true;
    }
    if (address < block->shared)
        snprintf(text, ADDRESS_TEXT_MAX, "%zu bytes before the block's dynamic shared memory (%zu bytes)",
                 (size_t)(block->shared - address), bytes);
    else if (address < block->shared + bytes)
        snprintf(text, ADDRESS_TEXT_MAX, "byte %zu of the block's dynamic shared memory (%zu bytes)",
                 (size_t)(address - block->shared), bytes);
    else
        snprintf(text, ADDRESS_TEXT_MAX, "%zu bytes past the end of the block's dynamic shared memory (%zu bytes)",
                 (size_t)(address - block->shared) - bytes, bytes);
    return true;
}

const char *address_describe(const void *address, char text[ADDRESS_TEXT_MAX]) {
    if (describe_dynamic(address, text) || describe_static(address, text) || arena_describe(address, text, ADDRESS_TEXT_MAX))
        return text;
    snprintf(text, ADDRESS_TEXT_MAX, "address %p, which is not device memory", address);
    return text;
}
