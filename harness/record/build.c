/* build.c - facts of the program: compilers and flags (told by CMake), and the Python that peers run in. */
#include "record/facts.h"

#include "base/places.h"
#include "record/identity.h"
#include "record/program.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A path begins where no word goes on, and ends before one of these. */
static const char *const PATH_BREAKS = " \t\n\r,;:='\"`()[]{}<>|";

static bool continues_word(char c) {
    return isalnum((unsigned char)c) || strchr("._-~/+@%", c) != NULL;
}

/* "-I/usr/include": the path begins behind the letter. */
static bool is_behind_option(const char *text, const char *at) {
    return at - text >= 2 && isalpha((unsigned char)at[-1]) && at[-2] == '-' && (at - text == 2 || !continues_word(at[-3]));
}

static bool path_begins(const char *text, const char *at) {
    if (at[0] == '/' && (at[1] == '\0' || at[1] == ' ')) return false;
    if (*at != '/' && !(at[0] == '.' && at[1] == '.' && at[2] == '/') && *at != '~') return false;
    return at == text || !continues_word(at[-1]) || is_behind_option(text, at);
}

/* A home folder itself: its last word is a person. */
static bool is_home(const char *at, size_t length) {
    const char *home = getenv("HOME");
    while (length > 1 && at[length - 1] == '/') length--;
    if (home && strlen(home) == length && strncmp(at, home, length) == 0) return true;
    return strncmp(at, "/home/", 6) == 0 && length > 6 && !memchr(at + 6, '/', length - 6);
}

/* What of the path [at, at+length) may be kept: the part below the source folder, else its last word. */
static size_t harmless_part(const char *at, size_t length) {
    const char *const project = places_project("");
    const size_t source = strlen(project);
    if (length > source && strncmp(at, project, source) == 0 && at[source] == '/') return source + 1;
    size_t keep = length;
    while (keep > 0 && at[keep - 1] == '/') keep--;
    while (keep > 0 && at[keep - 1] != '/') keep--;
    return keep;
}

json_t *facts_without_folders(const char *text) {
    char *clean = malloc(strlen(text) + 1);
    if (!clean) return NULL;
    size_t used = 0;
    for (const char *at = text; *at;) {
        if (!path_begins(text, at)) {
            clean[used++] = *at++;
            continue;
        }
        const size_t length = strcspn(at, PATH_BREAKS);
        const bool home = is_home(at, length);
        const size_t skip = home ? length - 1 : harmless_part(at, length);
        memcpy(clean + used, home ? "~" : at + skip, length - skip);
        used += length - skip;
        at += length;
    }
    clean[used] = '\0';
    json_t *result = identity_hidden_in(clean);
    if (!result) result = json_string("(not UTF-8)");
    free(clean);
    return result;
}

static json_t *told(const char *text) {
    return *text ? facts_without_folders(text) : json_null();
}

json_t *facts_build(void) {
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "type", PROGRAM.build_type, "compiler", told(PROGRAM.compiler), "flags",
                     told(PROGRAM.flags), "cuda_compiler", told(PROGRAM.cuda_compiler), "cuda_flags", told(PROGRAM.cuda_flags),
                     "cuda_architectures", told(PROGRAM.cuda_architectures));
}

json_t *facts_python(void) {
    static const char QUESTION[] =
        "import json, platform\n"
        "from importlib.metadata import version\n"
        "packages = {}\n"
        "for name in ('numpy', 'pandas', 'scipy', 'statsmodels', 'numba', 'numba-cuda', 'cupy-cuda12x', 'cupy-cuda13x', 'torch',\n"
        "             'jax', 'jaxlib', 'polars', 'pyarrow', 'cudf-cu12', 'cudf-cu13', 'matplotlib'):\n"
        "    try: packages[name] = version(name)\n"
        "    except Exception: pass\n"
        "print(json.dumps({'version': platform.python_version(), 'packages': packages}))\n";
    const char *const argv[] = {places_python(), "-c", QUESTION, NULL};
    char why[256];
    char *answer = facts_command(argv, 30, why, sizeof why);
    json_t *python = answer ? json_loads(answer, 0, NULL) : NULL;
    free(answer);
    return python ? python : json_null();
}
