/* Whatever the words of a command line are, the options keep their ranges, or the exit code says that the usage is wrong. */
#include "cli/commands.h"
#include "cli/options.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

static bool callback(void *target, const char *text) {
    *(int *)target = 1;
    return strcmp(text, "good") == 0;
}

void fuzz_options(const uint8_t *bytes, size_t size) {
    enum { WORDS_MAX = 40 };
    char *text = fuzz_text(bytes, size), *argv[WORDS_MAX + 1] = {"verb"}, **words;
    int argc = 1, count = 0, number = 0, called = 0;
    for (char *word = strtok(text, "\n"); word && argc < WORDS_MAX; word = strtok(NULL, "\n")) argv[argc++] = word;
    bool flag = false;
    const char *name = NULL;
    double seconds = 0, limit = 1;
    const CliOption OPTIONS[] = {{"flag", NULL, CLI_FLAG, &flag, "a flag", NULL},
                                 {"text", "TEXT", CLI_TEXT, &name, "a text", NULL},
                                 {"time", "TIME", CLI_DURATION, &seconds, "a time", NULL},
                                 {"size", "SIZE", CLI_BYTES, &limit, "a size", NULL},
                                 {"number", "N", CLI_COUNT, &number, "a number", NULL},
                                 {"call", "good", CLI_CALLBACK, &called, "a function", callback},
                                 {0}};
    const int code = cli_parse("verb", "[options]", OPTIONS, argc, argv, &words, &count);
    REQUIRE(code == EXIT_GOOD || code == EXIT_USAGE || code == CLI_HELPED);
    REQUIRE(count >= 0 && count < argc);
    if (code == EXIT_GOOD) {
        REQUIRE(isfinite(seconds) && seconds >= 0);
        REQUIRE(limit > 0 && limit < 0x1p63); /* it becomes a size_t */
        REQUIRE(number >= 0 && number <= 1000000);
    }
    (void)status_fail(STATUS_INVALID, "%s", code == EXIT_GOOD && count > 0 ? words[0] : "no words");
    REQUIRE(cli_fail(STATUS_INVALID) == EXIT_USAGE);
    free(text);
}
