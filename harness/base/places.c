#include "base/places.h"

#include "base/output.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 64, LEVELS_UP = 3, LINE_BYTES = PATH_MAX + 32, ROOM_BYTES = 1 << 16 };

typedef struct Places {
    char beside[PATH_MAX], project[PATH_MAX], harness[PATH_MAX], libraries[PATH_MAX], build[PATH_MAX];
    bool found;
} Places;

static void cut_last(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
}

/* The file with this code: the program, or the library that a worker of Python loads. */
static void find_self(char path[PATH_MAX]) {
    Dl_info info;
    const int asked = dladdr((const void *)(uintptr_t)&places_check, &info);
    const char *ending = asked && info.dli_fname ? strstr(info.dli_fname, ".so") : NULL;
    if (ending && realpath(info.dli_fname, path)) return;
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
}

static void keep(char place[PATH_MAX], const char *format, const char *folder) {
    if (snprintf(place, PATH_MAX, format, folder) >= PATH_MAX) place[0] = '\0';
}

/* The lines of rungs-places: "project FOLDER", "harness FOLDER", "libraries FOLDER". */
static bool read_build_folder(Places *places, const char *folder) {
    char path[PATH_MAX], line[LINE_BYTES];
    keep(path, "%s/rungs-places", folder);
    FILE *file = fopen(path, "rbe");
    if (!file) return false;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "project ", 8) == 0) keep(places->project, "%s", line + 8);
        if (strncmp(line, "harness ", 8) == 0) keep(places->harness, "%s", line + 8);
        if (strncmp(line, "libraries ", 10) == 0) keep(places->libraries, "%s", line + 10);
    }
    fclose(file);
    keep(places->build, "%s", folder);
    return places->project[0] && places->harness[0] && places->libraries[0];
}

static bool read_prefix(Places *places, const char *folder) {
    char share[PATH_MAX];
    keep(share, "%s/share/rungs", folder);
    if (access(share, F_OK) != 0) return false;
    keep(places->project, "%s", share);
    keep(places->harness, "%s", share);
    keep(places->libraries, "%s/lib/rungs", folder);
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state)
        keep(places->build, "%s/rungs", state);
    else
        keep(places->build, "%s/.local/state/rungs", home && *home ? home : "/tmp");
    return true;
}

static const Places *places(void) {
    static Places known;
    static bool looked;
    if (looked) return &known;
    looked = true;
    char folder[PATH_MAX];
    find_self(folder);
    cut_last(folder);
    keep(known.beside, "%s", folder);
    for (int up = 0; up < LEVELS_UP && folder[0] && !known.found; up++) {
        known.found = read_build_folder(&known, folder) || read_prefix(&known, folder);
        cut_last(folder);
    }
    return &known;
}

Status places_check(void) {
    if (places()->found) return STATUS_OK;
    return status_fail(
        STATUS_UNSUPPORTED,
        "%s lies neither in its build folder nor in an installed prefix (bin/ beside share/rungs): start it there, or "
        "link to it instead of copying it",
        places()->beside);
}

/* One text for each folder and name, made once: it needs no memory that could run out. */
static const char *join(const char *folder, const char *name) {
    static char room[ROOM_BYTES];
    static struct { const char *folder, *name, *path; } kept[NAMES_MAX];
    static int count;
    static size_t used;
    for (int i = 0; i < count; i++)
        if (kept[i].folder == folder && strcmp(kept[i].name, name) == 0) return kept[i].path;
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    if (!*name || count == NAMES_MAX || used + bytes > sizeof room) return folder;
    char *path = room + used;
    snprintf(path, bytes, "%s/%s", folder, name);
    used += bytes;
    kept[count].folder = folder, kept[count].name = name, kept[count].path = path;
    return kept[count++].path;
}

const char *places_project(const char *name) {
    return join(places()->project, name);
}

const char *places_harness(const char *name) {
    return join(places()->harness, name);
}

const char *places_libraries(const char *name) {
    return join(places()->libraries, name);
}

/* An installed program makes its folder when it first needs it. */
const char *places_build(const char *name) {
    static bool made;
    if (!made) (void)output_make_folder(places()->build, 0777);
    made = true;
    return join(places()->build, name);
}

const char *places_beside(const char *name) {
    return join(places()->beside, name);
}

const char *places_python(void) {
    const char *named = getenv("RUNGS_PYTHON"), *own = places_project("build/python/bin/python");
    const bool project = strcmp(places_project(""), places_harness("")) != 0;
    return !(named && *named) && project && access(own, X_OK) == 0 ? own : places_harness("cmake/python");
}
