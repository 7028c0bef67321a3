/* unwritten.h - reads of bytes that were never written. Noted when they happen, reported only when the block (for shared memory) or
 * the kernel has ended: by then, if the writer was merely late, the write has shown itself as a data race, which is the better
 * report.
 */
#ifndef RUNGS_EMULATOR_UNWRITTEN_H
#define RUNGS_EMULATOR_UNWRITTEN_H

#include "emulator/fiber.h"

/* The running thread has done it. Only the first one is kept. */
void unwritten_note(const void *address, size_t bytes, const void *pc, EmulatorSite site);
/* A block is about to end, or (NULL) the kernel has: fault if a read is noted that it could have explained. */
void unwritten_report(const Block *ending);
void unwritten_forget(void);
/* The noted read in words; NULL if there is none. */
const char *unwritten_pending(void);

#endif
