/* symbol.h - names for addresses of this program and the module that it loaded, for reports. Slow: only called when something went
 * wrong. */
#ifndef RUNGS_EMULATOR_SYMBOL_H
#define RUNGS_EMULATOR_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "kernel.cu:12" for the instruction before a code address, as return addresses are; the emulator's own frames are skipped. "?" if
 * unknown. */
const char *symbol_line(const void *pc, char *text, size_t size);
/* The function at or around a code address, demangled. */
const char *symbol_function(const void *pc, char *text, size_t size);
/* The variable that holds a data address, demangled, and its bytes; false if there is none. */
bool symbol_variable(const void *address, char *text, size_t size, size_t *offset, size_t *bytes);
/* The bytes from the first to the last of the loaded file that this is an address of; false if it is of none. */
bool symbol_image(const void *inside, const unsigned char **begin, size_t *bytes);
/* Where a section lies in memory, of the file that `beside` is an address of; false if it has none of that name. */
bool symbol_section(const void *beside, const char *name, unsigned char **begin, size_t *bytes);

#endif
