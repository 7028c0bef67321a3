#include "base/usercode.h"

#include "base/hash.h"
#include "base/places.h"
#include "base/process.h"
#include "base/temporary.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_MAX = 1 << 20 };

static const char SYMBOL[] = "window_function";
static const char *const REALS[] = {"float", "double", "long double"};

/* CUDA's words mean nothing to the host compiler. Headers come first, since they use some of these words themselves. */
static const char HOST_PRELUDE[] = "#include <math.h>\n"
                                   "#include <stddef.h>\n"
                                   "#include <stdint.h>\n"
                                   "#define __device__\n"
                                   "#define __host__\n"
                                   "#define __forceinline__ inline\n"
                                   "#define __noinline__\n";

Status usercode_missing(const char *path) {
    return status_fail(STATUS_INVALID,
                       "%s: it defines no `__device__ void %s(const real *shared, int history_len, real *out, int window_size, "
                       "int arr_len, int offset)` (see docs/APPLY.md)",
                       path, SYMBOL);
}

enum { HASH_DIGITS = 16 };

static uint64_t hash_of(const char *text, size_t length) {
    return hash_bytes(HASH_START, text, length);
}

/* Where "#HASH" begins at the path's end; NULL: there is none. */
static const char *find_hash(const char *path) {
    const char *mark = strrchr(path, '#');
    return mark && strlen(mark + 1) == HASH_DIGITS && strspn(mark + 1, "0123456789abcdef") == HASH_DIGITS ? mark : NULL;
}

/* A pipe would be empty for the second who reads it, a device never ends. */
static Status require_file(const char *path, const char *found) {
    struct stat facts;
    if (stat(found, &facts) == 0 && S_ISREG(facts.st_mode)) return STATUS_OK;
    return status_fail(STATUS_INVALID, "function=%s: not a regular file", path);
}

/* *found: where the file is, for messages and #line. */
static Status find_source(const char *path, Text *found) {
    const bool elsewhere = path[0] != '/' && access(path, F_OK) != 0;
    const char *mark = elsewhere ? find_hash(path) : NULL;
    if (mark) {
        TRY(text_append(found, "%.*s", (int)(mark - path), path));
        if (access(found->text, F_OK) == 0) return require_file(path, found->text);
        return status_fail(STATUS_INVALID, "function=%s: there is no %s here with this hash; name the file by its path", path,
                           found->text);
    }
    TRY(text_append(found, "%s%s%s", elsewhere ? places_project("") : "", elsewhere ? "/" : "", path));
    if (access(found->text, F_OK) == 0) return require_file(path, found->text);
    return status_fail(STATUS_INVALID, "function=%s: no such file%s%s", path, elsewhere ? ", neither here nor in " : "",
                       elsewhere ? places_project("") : "");
}

/* The file's text. */
static Status read_source(const char *path, Text *found, char **text) {
    size_t length;
    TRY(find_source(path, found));
    const Status read = text_read_limited(found->text, SOURCE_MAX, text, &length);
    if (read != STATUS_OK) return status_prefix(read, "function=");
    char hash[HASH_DIGITS + 1];
    const char *mark = strcmp(found->text, path) != 0 ? find_hash(path) : NULL;
    snprintf(hash, sizeof hash, "%016" PRIx64, hash_of(*text, length));
    Status status = STATUS_OK;
    if (strlen(*text) != length)
        status = status_fail(STATUS_INVALID, "function=%s: a NUL byte in it; CUDA C source is expected", path);
    else if (mark && strcmp(mark + 1, hash) != 0)
        status = status_fail(STATUS_INVALID, "function=%s: %s has changed; its hash is %s", path, found->text, hash);
    if (status == STATUS_OK) return status;
    free(*text);
    *text = NULL;
    return status;
}

Status usercode_check(const char *path) {
    Text found = {0};
    char *text = NULL;
    const Status status = read_source(path, &found, &text);
    free(text);
    text_free(&found);
    return status;
}

void usercode_name(const char *path, char name[USERCODE_NAME_MAX]) {
    const char *const sources = places_project("");
    const size_t length = strlen(sources);
    Text found = {0};
    char *text = NULL, *real = NULL;
    const char *slash = strrchr(path, '/');
    snprintf(name, USERCODE_NAME_MAX, "%s", slash ? slash + 1 : path);
    if (read_source(path, &found, &text) == STATUS_OK) {
        real = realpath(found.text, NULL);
        slash = strrchr(found.text, '/');
        if (real && strncmp(real, sources, length) == 0 && real[length] == '/')
            snprintf(name, USERCODE_NAME_MAX, "%s", real + length + 1);
        else
            snprintf(name, USERCODE_NAME_MAX, "%.200s#%016" PRIx64, slash ? slash + 1 : found.text, hash_of(text, strlen(text)));
    }
    free(real);
    free(text);
    text_free(&found);
}

static Status append_quoted(Text *out, const char *path) {
    for (; *path; path++) TRY(text_append(out, *path == '"' || *path == '\\' ? "\\%c" : "%c", *path));
    return STATUS_OK;
}

static Status append_source(Text *out, const char *found, const char *text, const char *prelude, UsercodeReal real,
                            const char *tail) {
    /* Messages about what stands before the user's file name no temporary file. */
    TRY(text_append(out, "#line 1 \"rungs-prelude\"\n%stypedef %s real;\n", prelude, REALS[real]));
    TRY(text_append(out, "extern \"C\" __device__ void %s(const real *, int, real *, int, int, int);\n#line 1 \"", SYMBOL));
    TRY(append_quoted(out, found));
    return text_append(out, "\"\n%s\n%s", text, tail);
}

Status usercode_source(const char *path, const char *prelude, UsercodeReal real, const char *tail, Text *out) {
    Text found = {0};
    char *text = NULL;
    Status status = read_source(path, &found, &text);
    if (status == STATUS_OK) status = append_source(out, found.text, text, prelude, real, tail);
    free(text);
    text_free(&found);
    return status;
}

static Status write_text(const char *path, const Text *text) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(text->text, 1, text->length, file) == text->length;
    if (file) good = fclose(file) == 0 && good;
    return good ? STATUS_OK : status_fail(STATUS_IO, "a temporary file cannot be written: %s", strerror(errno));
}

/* Runs one compiler; STATUS_UNSUPPORTED if it does not exist. */
static Status compile_with(const char *compiler, const char *user_path, const char *source, const char *object,
                           const UsercodeBuild *build, const char *variable) {
    const char *const flags = build->flags;
    const char *argv[] = {compiler,
                          "-x",
                          "c++",
                          "-std=c++17",
                          "-O2",
                          "-g1",
                          "-fPIC",
                          "-shared",
                          "-ffp-contract=off",
                          "-fno-diagnostics-color",
                          source,
                          "-o",
                          object,
                          flags,
                          flags ? "-fno-sanitize-recover=all" : NULL,
                          NULL};
    Text said = {0};
    int exit_code = 0;
    Status status = process_capture(argv, &(ProcessLimits){.variable = variable}, &said, &exit_code);
    if (status == STATUS_OK && exit_code)
        status = status_fail(STATUS_INVALID, "function=%s: %s refused it:\n%s", user_path, compiler,
                             said.text ? said.text : "(no message)");
    text_free(&said);
    return status;
}

/* A sanitized function needs the compiler whose sanitizers the program has; any other may be chosen. */
static Status compile(const char *user_path, const char *source, const char *object, const UsercodeBuild *build,
                      const char *variable) {
    char same_version[32];
    snprintf(same_version, sizeof same_version, "clang++-%d", build->clang);
    const char *const clangs[] = {same_version, "clang++", "clang", NULL}, *const any[] = {"c++", "g++",   "clang++",
                                                                                           "cc",  "clang", NULL};
    const char *wanted = build->flags ? NULL : getenv("RUNGS_HOST_CC");
    if (wanted && *wanted) return compile_with(wanted, user_path, source, object, build, variable);
    for (const char *const *compiler = build->flags && build->clang ? clangs : any; *compiler; compiler++) {
        const Status status = compile_with(*compiler, user_path, source, object, build, variable);
        if (status != STATUS_UNSUPPORTED) return status;
    }
    return status_fail(STATUS_UNSUPPORTED, "function=%s: no C++ compiler found (g++, clang++); install one or set RUNGS_HOST_CC",
                       user_path);
}

static Status load(const char *user_path, const char *object, Usercode *out) {
    Usercode code = {.library = dlopen(object, RTLD_NOW | RTLD_LOCAL)};
    if (!code.library) {
        const char *why = dlerror(), *undefined = why ? strstr(why, "undefined symbol") : NULL;
        return status_fail(STATUS_INVALID, "function=%s: it compiles but cannot be loaded: %s", user_path,
                           undefined ? undefined
                           : why     ? why
                                     : "for no given reason");
    }
    code.function.address = dlsym(code.library, SYMBOL);
    if (!code.function.address) {
        dlclose(code.library);
        return usercode_missing(user_path);
    }
    *out = code;
    return STATUS_OK;
}

/* What the compiler itself leaves when it is killed goes into the folder as well. */
static Status compile_and_load(const char *folder, const char *path, const Text *text, const UsercodeBuild *build, Usercode *out) {
    static int opened; /* the loader knows a library by its path, as long as it is loaded */
    char source[TEMPORARY_PATH_MAX + 32], object[TEMPORARY_PATH_MAX + 32], variable[TEMPORARY_PATH_MAX + 32];
    snprintf(source, sizeof source, "%s/window_function.cc", folder);
    snprintf(object, sizeof object, "%s/window_function_%d.so", folder, ++opened);
    snprintf(variable, sizeof variable, "TMPDIR=%s", folder);
    TRY(write_text(source, text));
    TRY(compile(path, source, object, build, variable));
    return load(path, object, out);
}

Status usercode_open(const char *path, UsercodeReal real, const UsercodeBuild *build, Usercode *out) {
    Text text = {0};
    TemporaryFolder folder;
    Status status = usercode_source(path, HOST_PRELUDE, real, "", &text);
    if (status == STATUS_OK) status = status_prefix(temporary_folder(&folder), "function=%s: ", path);
    if (status == STATUS_OK) {
        status = compile_and_load(folder.path, path, &text, build, out);
        temporary_folder_remove(&folder); /* what is loaded stays loaded */
    }
    text_free(&text);
    return status;
}

void usercode_close(Usercode *code) {
    if (code->library) dlclose(code->library);
    *code = (Usercode){0};
}
