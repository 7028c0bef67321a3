/* fault.h - the end of a worker that ran into a bug: one paragraph on stderr and exit code 86. */
#ifndef RUNGS_EMULATOR_FAULT_H
#define RUNGS_EMULATOR_FAULT_H

#include "emulator/fiber.h"

enum { FAULT_EXIT_CODE = 86 };

/* kind: the words that name the class of bug ("deadlock", "data race"). site.file NULL: `pc`, a code address, says where; NULL too:
 * nowhere in particular. Adds kernel, block, thread and how to replay. */
void fault_at(const char *kind, EmulatorSite site, const void *pc, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
/* The same paragraph, for a sanitizer that prints its own report next and then ends the process itself. */
void fault_announce(const char *kind, const void *pc, const char *format, ...) __attribute__((format(printf, 3, 4)));

void fault_deadlock(const Block *block) __attribute__((noreturn));
void fault_hung(const void *pc) __attribute__((noreturn));
void fault_internal(const char *what) __attribute__((noreturn));

/* "thread (1,0,0)" / "block (0,0,3)"; static buffers are avoided: text is returned. */
enum { PLACE_MAX = 96 };
const char *fault_thread_text(const unsigned index[3], char text[PLACE_MAX]);
const char *fault_site_text(EmulatorSite site, char *text, size_t size);

#endif
