/* program.h - a program as it is, in the emulator (`rungs try FILE.cu` without an op). */
#pragma once

#include <stdbool.h>

/* Calls the main() of a module that cmake/program.py made. Returns its exit code; 2: there is none. */
int program_main(const char *module, int argc, char **argv);
/* Is that what this process is for? Then every stream is the program's own. */
bool program_runs(void);
/* Or is it a worker for a file that was bound to an op? Then work that names no stream goes to the given one. */
bool program_bound(void);
/* May host code touch all memory of the device? */
bool program_shares(void);
/* What was found in the kernel that runs, or in host code: a word or two for the table. */
void program_found(const char *kind);
/* How many schedules of the launch that has ended were run. */
void program_scheduled(int schedules);

/* runtime.c: remembers an error code for cudaGetLastError(), and gives it back. */
int runtime_note(int error);
