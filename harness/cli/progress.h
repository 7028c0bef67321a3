/* progress.h - what a user sees during a run: a line that updates itself on a terminal, plain lines otherwise. */
#pragma once

#include "cli/table.h"
#include "pipeline/run.h"

#include <stdio.h>

typedef struct Progress {
    bool terminal, colour;
    bool verbose;                /* a line for each variant that does not apply, too */
    bool brief;                  /* lines for failures and errors alone, unless it is verbose */
    int shown;                   /* columns of the line at the bottom of the terminal */
    size_t refused;              /* variants that did not apply and had no line */
    json_t *claims;              /* gets the judged claims, for the end; NULL: a line for each */
    bool one_case;               /* all rows are of one case: it is shown once, above them */
    char heading[CASE_TEXT_MAX]; /* the case that was shown last, above its rows */
    bool json;                   /* stdout has rows and claims as lines of JSON, and nothing else */
    Table *table;                /* gets the timed rows, for the end; NULL: no table */
} Progress;

/* Can a line be overwritten on what is behind the descriptor? Not where TERM is "dumb". */
bool terminal_live(int descriptor);
/* Colours: a live terminal, and NO_COLOR is not set (https://no-color.org). */
bool terminal_colour(int descriptor);

Progress progress_make(void);
/* The run tells its beginnings, rows, claims and notices. */
void progress_attach(Progress *progress, RunOptions *options);
/* context: a Progress. */
void progress_notice(void *context, const char *text);
/* The closing lines: counts, what was emulated, what the budget left and how to go on (options of the same command). */
void progress_summary(const Progress *progress, const RunSummary *summary, const char *out, const char *go_on);
/* Wipes the line at the bottom of the terminal, if there is one. */
void progress_wipe(Progress *progress);
/* "59s", "1m20s", "2h05m". */
void progress_duration(double seconds, char text[32]);
/* One judged claim as a line, and how many came out how (nothing if there are none). */
void progress_claim(FILE *stream, const json_t *claim);
void progress_claims(FILE *stream, const ClaimTotals *totals);
