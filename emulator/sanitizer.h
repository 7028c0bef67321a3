/* sanitizer.h - the sanitizers' runtimes as weak references, so that the same objects link with and without them. */
#ifndef RUNGS_EMULATOR_SANITIZER_H
#define RUNGS_EMULATOR_SANITIZER_H

#include "emulator/fiber.h"

/* Around every switch of stacks: AddressSanitizer must know which stack is in use. kept NULL: the stack left is given up. */
void sanitizer_start_switch(void **kept, Stack to);
/* The stack that was left; taken down only the first time, when it is the launcher's. */
void sanitizer_finish_switch(void *kept, Stack *left);

/* Forbids and allows bytes to instrumented code, to the byte at the upper end. Nothing without AddressSanitizer. */
void sanitizer_forbid(const void *from, size_t bytes);
void sanitizer_allow(const void *from, size_t bytes);
/* The first forbidden byte, or NULL. */
const void *sanitizer_first_forbidden(const void *from, size_t bytes);

#endif
