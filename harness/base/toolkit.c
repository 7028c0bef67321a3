#include "base/toolkit.h"
#include "base/places.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

/* The first file that matches the glob and loads. */
static void *open_matching(const char *pattern) {
    void *library = NULL;
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return NULL;
    for (size_t i = 0; i < found.gl_pathc && !library; i++) library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

/* folder: a glob. The name may go on with the minor version: 1 is not the beginning of 13. */
static void *open_version(const char *folder, const char *name, int major) {
    static const char *const ENDINGS[] = {"", ".*"};
    void *library = NULL;
    for (size_t e = 0; e < sizeof ENDINGS / sizeof *ENDINGS && !library; e++) {
        char pattern[1200];
        snprintf(pattern, sizeof pattern, "%s/lib%s.so.%d%s", folder, name, major, ENDINGS[e]);
        library = open_matching(pattern);
    }
    return library;
}

/* NVRTC loads lib<name>-builtins by its bare name, which the loader finds only on its own path or if it is loaded already: so that
 * one is opened first. */
static void *open_in(const char *folder, const char *name, int major) {
    char companion[128];
    snprintf(companion, sizeof companion, "%s-builtins", name);
    (void)open_version(folder, companion, major);
    return open_version(folder, name, major);
}

/* root: the folder of a toolkit, maybe NULL; a glob. CUPTI has a folder of its own in toolkits from the installer. */
static void *open_below(const char *root, const char *name, int major) {
    static const char *const FOLDERS[] = {"lib64", "lib", "targets/*/lib", "extras/CUPTI/lib64"};
    void *library = NULL;
    if (!root || !*root) return NULL;
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS && !library; i++) {
        char folder[1024];
        snprintf(folder, sizeof folder, "%s/%s", root, FOLDERS[i]);
        library = open_in(folder, name, major);
    }
    return library;
}

void *toolkit_open(const char *name, int major) {
    char text[256];
    snprintf(text, sizeof text, "lib%s.so.%d", name, major);
    void *library = dlopen(text, RTLD_NOW | RTLD_LOCAL);
    snprintf(text, sizeof text, "/usr/local/cuda-%d.*", major);
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", text, places_harness("build/cuda")};
    for (size_t i = 0; i < sizeof roots / sizeof *roots && !library; i++) library = open_below(roots[i], name, major);
    if (library) return library;
    return open_in(places_harness("build/python/lib/python3*/site-packages/nvidia/*/lib"), name, major);
}
