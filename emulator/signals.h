/* signals.h - memory faults turned into messages, and the watchdog over launches that make no progress. */
#ifndef RUNGS_EMULATOR_SIGNALS_H
#define RUNGS_EMULATOR_SIGNALS_H

/* Once per process; later calls do nothing. After the sanitizers' runtimes have started, whose handlers it outranks. */
void signals_install(void);
void watchdog_start(void);
void watchdog_stop(void);

#endif
