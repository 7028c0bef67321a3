/* terminal.h - what the terminal behind a stream can show. */
#ifndef RUNGS_CLI_TERMINAL_H
#define RUNGS_CLI_TERMINAL_H

#include <stdbool.h>

/* Can a line be overwritten? Not where TERM is "dumb". */
bool terminal_live(int descriptor);
/* Colours: a live terminal, and NO_COLOR is not set (https://no-color.org). */
bool terminal_colour(int descriptor);
/* Columns, asked anew each time, as a window may be resized; 80 where the terminal does not say. */
int terminal_width(int descriptor);

#endif
