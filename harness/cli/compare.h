/* compare.h - compares two files of rows, by analysis/compare/; for `compare` and `ab`. */
#ifndef RUNGS_CLI_COMPARE_H
#define RUNGS_CLI_COMPARE_H

#include "base/status.h"
#include "cli/words.h"

#include <stdbool.h>

/* Texts as given on the command line; NULL: not given. */
typedef struct CompareOptions {
    const char *min_effect, *must_detect, *noise, *allow_missing, *modes, *json, *markdown, *junit;
    bool strict;
} CompareOptions;

/* Entries of a CliOption table. */
#define COMPARE_OPTIONS(o)                                                                                                         \
    {"min-effect", "PERCENT", CLI_TEXT, &(o).min_effect, "ignore smaller changes (default 3%)", NULL},                             \
        {"must-detect",                                                                                                            \
         "PERCENT",                                                                                                                \
         CLI_TEXT,                                                                                                                 \
         &(o).must_detect,                                                                                                         \
         "fail if a row could not have shown this slow-down ('5%,warn': only warn)",                                               \
         NULL},                                                                                                                    \
        {"noise", "FILE", CLI_TEXT, &(o).noise, "the machine's noise floor, from rungs calibrate", NULL},                          \
        {"allow-missing", "GLOBS", CLI_TEXT, &(o).allow_missing, "variants or cases that may be missing, comma separated", NULL},  \
        {"modes", "LIST", CLI_TEXT, &(o).modes, "modes to compare, comma separated, such as cold,hot", NULL},                      \
        {"strict", NULL, CLI_FLAG, &(o).strict, "also fail ambiguous comparisons whose whole interval is slower by --min-effect",  \
         NULL},                                                                                                                    \
        {"json", "FILE", CLI_TEXT, &(o).json, "the comparison as JSON", NULL},                                                     \
        {"markdown", "FILE", CLI_TEXT, &(o).markdown, "the comparison as Markdown, for a summary page", NULL}, {                   \
        "junit", "FILE", CLI_TEXT, &(o).junit, "the comparison as JUnit XML", NULL                                                 \
    }

/* The words of `python -m analysis.compare`, which borrow those given; free with words_free. */
void compare_words(Words *words, const char *base, const char *new, const CompareOptions *options);
/* Checks that the output files of the options can be written and are none of the inputs (NULL-terminated). `ab` calls it before it
 * measures. */
Status compare_check(const char *const *inputs, const CompareOptions *options);
/* EXIT_GOOD, or EXIT_USAGE after printing which word is no mode. */
int compare_modes(const char *verb, const CompareOptions *options);

#endif
