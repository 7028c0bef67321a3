/* rungs plot: a sweep from rows, drawn by gnuplot in the terminal or to a file; plots/sweep.py names and draws them. */
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"

#include "base/places.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Columns of the terminal; 0: stdout is none. */
static int columns(void) {
    struct winsize size = {0};
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static int plot_rows(const char *figure, char *const *files, const char *out) {
    Words script = {0};
    char width[16];
    Status status = words_add(&script, figure ? figure : "");
    for (; *files && status == STATUS_OK; files++) status = words_add(&script, *files);
    if (status == STATUS_OK && out) status = words_option(&script, "--out", out);
    snprintf(width, sizeof width, "%d", columns());
    if (status == STATUS_OK) status = words_option(&script, "--columns", width);
    return python_verb(status, "plot", "plots.sweep", &script);
}

int command_plot(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &out, "write an SVG file (default: text, in the terminal)", NULL},
        {0},
    };
    glob_t committed = {0};
    char **words = calloc((size_t)argc + 1, sizeof *words);
    int count = 0;
    int code = words ? cli_parse("plot",
                                 "[FIGURE] [RESULTS.jsonl...] [options]\nWithout FIGURE: lists the figures that the rows allow. "
                                 "Default rows: results/*.jsonl",
                                 OPTIONS, argc, argv, words, &count)
                     : cli_no_memory();
    if (code == 0 && count < 2 && glob(places_project("results/*.jsonl"), 0, NULL, &committed) != 0)
        code = cli_usage("plot", "no .jsonl files in results/; name files of rows");
    if (code == 0) code = plot_rows(count ? words[0] : NULL, count < 2 ? committed.gl_pathv : words + 1, out);
    globfree(&committed);
    free(words);
    return code == CLI_HELPED ? EXIT_GOOD : code;
}
