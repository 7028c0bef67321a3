/* The variants: the files impls/<op>/cpu_*.c, cuda_*.cu, peer_*.py, triton_*.py and torch_*.py of the project, or the modules of an
 * installed prefix. */
#include "plan/registry.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_TEXT = 256 };
static const char WORD[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

/* Of a variant's file: how it begins, by its ending. */
typedef struct Form {
    const char *ending, *prefix;
    Backend backend;
} Form;
static const Form FORMS[] = {{".c", "cpu_", BACKEND_CPU},
                             {".cu", "cuda_", BACKEND_CUDA},
                             {".py", "peer_", BACKEND_PEER},
                             {".py", "triton_", BACKEND_PEER},
                             {".py", "torch_", BACKEND_PEER}};
enum { FORM_COUNT = sizeof FORMS / sizeof *FORMS };

typedef struct Found {
    VariantEntry *entries;
    int count, room;
    Text problems;
    Status status;
} Found;

static const Form *form_of(const char *file) {
    const char *ending = strrchr(file, '.');
    for (int i = 0; ending && i < FORM_COUNT; i++)
        if (strcmp(ending, FORMS[i].ending) == 0) return &FORMS[i];
    return NULL;
}

static bool same_ending(const Form *a, const Form *b) {
    return a && b && strcmp(a->ending, b->ending) == 0;
}

static const Form *form_of_prefix(const char *file) {
    for (int i = 0; i < FORM_COUNT; i++)
        if (strncmp(file, FORMS[i].prefix, strlen(FORMS[i].prefix)) == 0) return &FORMS[i];
    return NULL;
}

/* ---- What a file that is no variant should be called. */
static Status stray(const char *path, const char *file, bool folder, Text *out) {
    const Form *form = form_of(file), *begins = form_of_prefix(file);
    const char *const dot = strrchr(file, '.') ? strrchr(file, '.') : file + strlen(file);
    const int stem = (int)(dot - file);
    if (folder)
        return text_append(
            out, "%s: a folder; a variant is one file: move its files up, or to impls/common/ if variants share them\n", path);
    if (strcmp(dot, ".h") == 0 || strcmp(dot, ".cuh") == 0 || strcmp(dot, ".inc") == 0)
        return text_append(out, "%s: rename it to _%s: shared code of an op begins with _\n", path, file);
    if (!form)
        return text_append(out,
                           "%s: not a variant; expected cpu_NAME.c, cuda_NAME.cu, peer_NAME.py, triton_NAME.py, torch_NAME.py, or "
                           "_NAME for code that variants share: "
                           "rename or move it\n",
                           path);
    if (begins && !same_ending(begins, form))
        return text_append(out, "%s: %s* ends in %s, %s begins with %s: rename it to %.*s%s or to %s%s\n", path, begins->prefix,
                           begins->ending, form->ending, form->prefix, stem, file, begins->ending, form->prefix,
                           file + strlen(begins->prefix));
    return text_append(
        out,
        "%s: the build ignores this name; rename it to %s%s (a variant begins with where it runs, and is a word of a-z, 0-9 "
        "and _) or to _%s (shared code)\n",
        path, form->prefix, file, file);
}

/* ---- Entries. */
static Status add(Found *found, const char *op, const char *name, const char *path, Backend backend) {
    static const VariantFacts UNKNOWN;
    char id[NAME_TEXT];
    if (found->count == found->room) {
        const int room = found->room ? 2 * found->room : 128;
        VariantEntry *grown = realloc(found->entries, (size_t)room * sizeof *grown);
        if (!grown) return status_fail(STATUS_MEMORY, "no memory for %d variants", room);
        found->entries = grown, found->room = room;
    }
    if (snprintf(id, sizeof id, "%s/%s", op, name) >= (int)sizeof id)
        return status_fail(STATUS_INVALID, "%s: its name is too long", path);
    VariantEntry entry = {.id = strdup(id), .op = strdup(op), .path = strdup(path), .backend = backend, .variant = &UNKNOWN};
    if (!entry.id || !entry.op || !entry.path) return status_fail(STATUS_MEMORY, "no memory for the variant %s", id);
    found->entries[found->count++] = entry;
    return STATUS_OK;
}

static Status take_file(Found *found, const char *op, const char *file, const char *path, bool folder) {
    char name[NAME_TEXT];
    const Form *form = form_of(file);
    if (file[0] == '_' || file[strlen(file) - 1] == '~') return STATUS_OK;
    if (!folder && same_ending(form, form_of_prefix(file))) {
        snprintf(name, sizeof name, "%.*s", (int)(strrchr(file, '.') - file), file);
        if (strspn(name, WORD) == strlen(name))
            return form->backend == BACKEND_CUDA && !modules_settings()->cuda ? STATUS_OK
                                                                              : add(found, op, name, path, form->backend);
    }
    /* The tests' wrong variants keep their headers beside them, under any name. */
    const bool header = strcmp(modules_settings()->impls, "impls") != 0 && !form;
    return header ? STATUS_OK : stray(path, file, folder, &found->problems);
}

typedef Status Visit(Found *found, const char *op, const char *file, const char *path, bool folder);

static bool join(char path[PATH_MAX], const char *folder, const char *name) {
    return snprintf(path, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", name) < PATH_MAX;
}

static const char NO_FILE[] = "a variant is a file; this is a pipe, a device or a link that leads nowhere";

/* Every file of a folder, but for hidden ones. op: NULL for the folder of the ops themselves. */
static Status visit_folder(Found *found, const char *folder, const char *op, Visit *visit) {
    const ModuleSettings *settings = modules_settings();
    struct dirent **names;
    char whole[PATH_MAX], path[PATH_MAX];
    if (!join(whole, settings->root[0] ? settings->root : settings->folder, folder)) return STATUS_OK;
    const int count = scandir(whole, &names, NULL, alphasort);
    Status status = STATUS_OK;
    if (count < 0 && errno != ENOENT && errno != ENOTDIR)
        return status_fail(errno == ENOMEM ? STATUS_MEMORY : STATUS_IO, "%s: cannot be read: %s", whole, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat facts;
        const char *file = names[i]->d_name;
        const bool hidden = file[0] == '.' || strcmp(file, "__pycache__") == 0, fits = join(path, whole, file);
        const bool there = fits && stat(path, &facts) == 0 && (S_ISDIR(facts.st_mode) || S_ISREG(facts.st_mode));
        if (!hidden && status == STATUS_OK && fits && join(path, folder, file)) {
            if (there)
                status = visit(found, op, file, path, S_ISDIR(facts.st_mode));
            else if (form_of(file))
                status = text_append(&found->problems, "%s: %s\n", path, NO_FILE);
        }
        free(names[i]);
    }
    if (count >= 0) free(names);
    return status;
}

static Status no_op(Found *found, const char *op, const char *path) {
    const Op *none;
    return registry_require_op(op, &none) == STATUS_OK
               ? STATUS_OK
               : text_append(&found->problems, "%s: %s: rename the folder, or write reference/%s.c with RUNGS_OP(%s)\n", path,
                             status_message(), op, op);
}

static Status take_op(Found *found, const char *op, const char *file, const char *path, bool folder) {
    (void)op;
    if (!folder && form_of(file))
        return text_append(&found->problems, "%s: a variant lies in the folder of its op: move it to %s/OP/%s\n", path,
                           modules_settings()->impls, file);
    if (!folder || strcmp(file, "common") == 0) return STATUS_OK;
    return registry_op(file) ? visit_folder(found, path, file, take_file) : no_op(found, file, path);
}

/* <op>/<name>.json beside a module: for a prefix, which has no sources. */
static Status take_facts(Found *found, const char *op, const char *file, const char *path, bool folder) {
    char name[NAME_TEXT], source[NAME_TEXT];
    const char *dot = strchr(file, '.');
    const Form *form = form_of_prefix(file);
    (void)path;
    /* Where nvcc compiled nothing, the emulator's module tells of a CUDA variant. */
    const bool emulated = form && form->backend == BACKEND_CUDA && !modules_settings()->native;
    if (folder || !dot || strcmp(dot, emulated ? ".asan.json" : ".json") != 0 || !form) return STATUS_OK;
    snprintf(name, sizeof name, "%.*s", (int)(dot - file), file);
    if (snprintf(source, sizeof source, "impls/%s/%s%s", op, name, form->ending) >= (int)sizeof source) return STATUS_OK;
    return add(found, op, name, source, form->backend);
}

static Status take_installed_op(Found *found, const char *op, const char *file, const char *path, bool folder) {
    (void)op;
    return folder && registry_op(file) ? visit_folder(found, path, file, take_facts) : STATUS_OK;
}

static int by_id(const void *a, const void *b) {
    return strcmp(((const VariantEntry *)a)->id, ((const VariantEntry *)b)->id);
}

static Found *variants(void) {
    static Found found;
    static bool looked;
    if (looked) return &found;
    looked = true;
    const bool installed = !modules_settings()->root[0];
    found.status = visit_folder(&found, modules_settings()->impls, NULL, installed ? take_installed_op : take_op);
    if (found.count) qsort(found.entries, (size_t)found.count, sizeof *found.entries, by_id);
    return &found;
}

VariantEntry *registry_variants(int *count) {
    *count = variants()->count;
    return variants()->entries;
}

Status registry_variant_problems(Text *out) {
    TRY(variants()->status);
    return variants()->problems.text ? text_append(out, "%s", variants()->problems.text) : STATUS_OK;
}

static Status add_file(Found *found, const char *path, const Op *op) {
    char name[NAME_TEXT] = "try_";
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const Form *form = form_of(file);
    struct stat facts;
    if (!form) return status_fail(STATUS_INVALID, "%s: a variant is a file that ends in .c, .cu or .py", path);
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) return status_fail(STATUS_INVALID, "%s: %s", path, NO_FILE);
    for (const char *at = file; at < strrchr(file, '.') && strlen(name) + 1 < sizeof name; at++) {
        const char letter = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
        snprintf(name + strlen(name), 2, "%c", strchr(WORD, letter) ? letter : '_');
    }
    return add(found, op->name, name, path, form->backend);
}

Status registry_add(const char *const *paths, int count, const Op *op, const VariantEntry **out) {
    Found *found = variants();
    for (int i = 0; i < count; i++) TRY(add_file(found, paths[i], op));
    for (int i = 0; i < count; i++) out[i] = &found->entries[found->count - count + i];
    return STATUS_OK;
}
