/* symbol.h - names for addresses of this program, for reports. Slow: only called when something went wrong. */
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
/* Where a section of this program lies in memory; false if it has none of that name. */
bool symbol_section(const char *name, unsigned char **begin, size_t *bytes);

#endif
