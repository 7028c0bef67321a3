/* rungs plot: a sweep from rows, drawn by gnuplot in the terminal or to a file; plots/sweep.py names and draws them. */
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/python.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Columns of the terminal; 0: stdout is none. */
static int columns(void) {
    struct winsize size = {0};
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int command_plot(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &out, "write an SVG file (default: text, in the terminal)", NULL},
        {0},
    };
    glob_t committed = {0};
    char **words, width[16];
    int count = 0;
    const int code = cli_parse("plot",
                               "[FIGURE] [RESULTS.jsonl...] [options]\nWithout FIGURE: lists the figures that the rows allow. "
                               "Default rows: results/[0-9]*.jsonl",
                               OPTIONS, argc, argv, &words, &count);
    if (code != 0) return code;
    if (count < 2 && inputs_campaign("plot", &committed) != EXIT_GOOD) return EXIT_USAGE;
    Words script = {0};
    words_add(&script, count ? words[0] : "");
    char **const files = count < 2 ? committed.gl_pathv : words + 1;
    for (char **file = files; *file; file++) words_add(&script, *file);
    words_option(&script, "--out", out);
    snprintf(width, sizeof width, "%d", columns());
    words_option(&script, "--columns", width);
    const int drawn = python_verb(&(PythonVerb){.verb = "plot",
                                                .module = "plots.sweep",
                                                .outputs = (const OutputName[]){{"--out", out}, {0}},
                                                .inputs = (const char *const *)files},
                                  &script);
    globfree(&committed);
    return drawn;
}
