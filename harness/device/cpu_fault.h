/* cpu_fault.h - reports which array a CPU variant overran when it touched forbidden memory. */
#ifndef RUNGS_DEVICE_CPU_FAULT_H
#define RUNGS_DEVICE_CPU_FAULT_H

#include <stddef.h>

/* An allocation: [begin, end), within address space that is its own. */
typedef struct CpuBlock {
    const unsigned char *from, *to, *begin, *end;
} CpuBlock;

/* From now on a SIGSEGV or SIGBUS in or beside a watched block is explained on stderr, on a line that begins with "rungs-worker: ".
 * The process ends by the signal as it would have. */
void cpufault_explain(void);
void cpufault_watch(const void *pointer, const CpuBlock *block);
/* As Device.describe. */
void cpufault_describe(void *pointer, const char *name, const void *payload, size_t bytes);
void cpufault_forget(const void *pointer);

#endif
