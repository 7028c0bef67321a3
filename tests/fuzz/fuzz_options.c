/* Whatever the words of a command line are, the options keep their ranges, or the exit code says that the usage is wrong. */
#include "cli/commands.h"
#include "cli/options.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

void fuzz_options(const uint8_t *bytes, size_t size) {
    enum { WORDS_MAX = 40 };
    char *text = fuzz_text(bytes, size), *argv[WORDS_MAX + 1] = {"verb"}, **words;
    int argc = 1, count = 0, number = 0, chosen = 0;
    for (char *word = strtok(text, "\n"); word && argc < WORDS_MAX; word = strtok(NULL, "\n")) argv[argc++] = word;
    bool flag = false;
    const char *name = NULL, *file = NULL;
    Pairs pairs = {0};
    Words list = {0}, again = {0};
    double seconds = 0, limit = 1;
    const CliOption OPTIONS[] = {{"flag", NULL, CLI_FLAG, &flag, "a flag"},
                                 {"text", "TEXT", CLI_TEXT, &name, "a text"},
                                 {"time", "TIME", CLI_DURATION, &seconds, "a time"},
                                 {"size", "SIZE", CLI_BYTES, &limit, "a size"},
                                 {"number", "N", CLI_COUNT, &number, "a number"},
                                 {"file", "FILE", CLI_FILE, &file, "a file"},
                                 {"choice", "good|better", CLI_CHOICE, &chosen, "a choice"},
                                 {"pair", "NAME=VALUE", CLI_PAIRS, &pairs, "a pair"},
                                 {"list", "WORD", CLI_LIST, &list, "a word"},
                                 {0}};
    const int code = cli_parse("verb", "[options]", OPTIONS, argc, argv, &words, &count);
    REQUIRE(code == EXIT_GOOD || code == EXIT_USAGE || code == CLI_HELPED);
    REQUIRE(count >= 0 && count < argc);
    if (code == EXIT_GOOD) {
        REQUIRE(isfinite(seconds) && seconds >= 0);
        REQUIRE(limit > 0 && limit < 0x1p63); /* it becomes a size_t */
        REQUIRE(number >= 0 && number <= 1000000);
        REQUIRE(chosen == 0 || chosen == 1);
        words_options(&again, OPTIONS);
        REQUIRE(again.status == STATUS_OK && again.count >= 2);
        Text quoted = {0};
        for (int i = 0; i < again.count; i++) REQUIRE(quote_word(&quoted, again.words[i]) == STATUS_OK);
        text_free(&quoted);
    }
    (void)status_fail(STATUS_INVALID, "%s", code == EXIT_GOOD && count > 0 ? words[0] : "no words");
    REQUIRE(cli_fail(STATUS_INVALID) == EXIT_USAGE);
    words_free(&list);
    words_free(&again);
    free(text);
}
