#include "plan/registry.h"

#include "base/places.h"
#include "base/process.h"
#include "plan/build.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CUT_MAX = 4096 };
static const char *const SUFFIX[] = {
    [MODULE_NATIVE] = "", [MODULE_ASAN] = ".asan", [MODULE_RACE] = ".race", [MODULE_MEMORY] = ".memory"};

/* ---- What the build says. */
static const char *modules_name = "modules";
static bool (*has_gpu)(void);

void modules_open(const char *name, bool (*is_there_a_gpu)(void)) {
    modules_name = name;
    has_gpu = is_there_a_gpu;
}

static void copy_text(const json_t *from, const char *key, char *to, size_t size) {
    const char *text = json_string_value(json_object_get(from, key));
    snprintf(to, size, "%s", text ? text : "");
}

const ModuleSettings *modules_settings(void) {
    static ModuleSettings known;
    static bool looked;
    char path[PATH_MAX + 32];
    static const char FILE_NAME[] = "settings.json";
    if (looked) return &known;
    looked = true;
    for (int place = 0; place < 2; place++) {
        snprintf(known.folder, sizeof known.folder, "%s/%s", place == 0 ? places_build("") : places_libraries(""),
                 place == 0 ? modules_name : "modules");
        snprintf(path, sizeof path, "%s/%s", known.folder, FILE_NAME);
        json_t *settings = json_load_file(path, 0, NULL);
        if (!settings && errno == ENOMEM) break; /* main.c says so */
        if (!settings) continue;
        known.found = true;
        copy_text(settings, "root", known.root, sizeof known.root);
        copy_text(settings, "impls", known.impls, sizeof known.impls);
        copy_text(settings, "python", known.python, sizeof known.python);
        if (access(known.python, X_OK) != 0) snprintf(known.python, sizeof known.python, "python3");
        const char *own = getenv("RUNGS_PYTHON");
        if (own && *own) snprintf(known.python, sizeof known.python, "%s", own);
        known.cuda = json_is_true(json_object_get(settings, "cuda"));
        known.native = json_is_true(json_object_get(settings, "native"));
        known.emulated = json_is_true(json_object_get(settings, "emulated"));
        json_decref(settings);
        break;
    }
    return &known;
}

/* ---- Which. */
static bool emulated;
static ModuleKind emulated_kind;
static const char *selection;

void modules_emulate(ModuleKind kind) {
    emulated = true;
    emulated_kind = kind;
}

void modules_select(const char *list) {
    selection = list;
}

/* Of the list; those with a '-' take away, and are no reason to leave one out: the filter does it. */
bool modules_selected(const VariantEntry *entry) {
    char cut[CUT_MAX];
    bool any_given = false;
    if (!selection || strlen(selection) >= sizeof cut || selection[strspn(selection, " \t\r\n,")] == '-') return true;
    snprintf(cut, sizeof cut, "%s", selection);
    for (char *rest = cut, *piece; (piece = strsep(&rest, ",")) != NULL;) {
        Request request;
        if (piece[strspn(piece, " \t\r\n")] == '-' || request_read(cut, piece, &request) != STATUS_OK) continue;
        any_given = true;
        if (request_may_name(&request, entry)) return true;
    }
    return !any_given;
}

ModuleKind modules_kind(const VariantEntry *entry) {
    if (entry->backend != BACKEND_CUDA) return MODULE_NATIVE;
    if (emulated) return emulated_kind;
    return modules_settings()->native && (!modules_settings()->emulated || (has_gpu && has_gpu())) ? MODULE_NATIVE : MODULE_ASAN;
}

const char *modules_tried(void) {
    const char *const folder = getenv("RUNGS_TRIED");
    return folder && *folder ? folder : places_build("tried");
}

static const char *file_of(const VariantEntry *entry, ModuleKind kind, const char *ending, char path[PATH_MAX]) {
    const char *folder = strstr(entry->id, "/try_") ? modules_tried() : modules_settings()->folder;
    if (snprintf(path, PATH_MAX, "%s/%s%s%s", folder, entry->id, SUFFIX[kind], ending) >= PATH_MAX) path[0] = '\0';
    return path;
}

const char *modules_path(const VariantEntry *entry, ModuleKind kind, char path[PATH_MAX]) {
    return file_of(entry, kind, ".so", path);
}

/* ---- What is kept beside a module: JSON with what it says of itself, and with the files that it was made of. */
static json_t *load_kept(const VariantEntry *entry, ModuleKind kind) {
    char path[PATH_MAX];
    return json_load_file(file_of(entry, kind, ".json", path), 0, NULL);
}

static bool unchanged(const char *path, json_int_t nanoseconds, json_int_t bytes) {
    struct stat facts;
    return stat(path, &facts) == 0 && (json_int_t)facts.st_size == bytes &&
           (json_int_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec == nanoseconds;
}

/* Is it of this file, as it is? An installed one has none. */
static bool is_fresh(const json_t *kept, const VariantEntry *entry, ModuleKind kind) {
    char module[PATH_MAX];
    size_t i;
    json_t *file;
    const char *path = json_string_value(json_object_get(kept, "path")),
               *contract = json_string_value(json_object_get(kept, "contract"));
    if (!path || strcmp(path, entry->path) != 0 || !contract || strcmp(contract, CONTRACT) != 0) return false;
    if (!json_is_null(json_object_get(kept, "error"))) return false; /* what it depends on is not known: it is tried again */
    const json_t *bytes = json_object_get(kept, "bytes");            /* a module is empty where the machine lost its power */
    struct stat made;
    if (entry->backend != BACKEND_PEER &&
        (stat(modules_path(entry, kind, module), &made) != 0 || (bytes && made.st_size != json_integer_value(bytes))))
        return false;
    json_array_foreach(json_object_get(kept, "files"), i, file) {
        const char *name = json_string_value(json_array_get(file, 0));
        if (!name || !unchanged(name, json_integer_value(json_array_get(file, 1)), json_integer_value(json_array_get(file, 2))))
            return false;
    }
    return true;
}

/* Texts live until the program ends, one copy of each. Without memory for one, learn() says so. */
static bool lost;

static const char *copied(const char *text) {
    const char *copy = strdup(text);
    lost = lost || !copy;
    return copy;
}

static void *cleared(size_t count, size_t size) {
    void *memory = calloc(count, size);
    lost = lost || !memory;
    return memory;
}

static const char *keep_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? copied(text) : NULL;
}

static const char *const *keep_texts(const json_t *list) {
    const size_t count = json_array_size(list);
    const char **texts = json_is_array(list) ? cleared(count + 1, sizeof *texts) : NULL;
    for (size_t i = 0; texts && i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        texts[i] = copied(text ? text : "");
    }
    return texts;
}

static ParamKind kind_named(const char *word) {
    for (int kind = PARAM_INT; word && kind <= PARAM_TEXT; kind++)
        if (strcmp(word, PARAM_KINDS[kind]) == 0) return (ParamKind)kind;
    return PARAM_TEXT;
}

static const ParamSpec *keep_tunables(const json_t *list) {
    const size_t count = json_array_size(list);
    ParamSpec *specs = count && count <= PARAMS_MAX ? cleared(count + 1, sizeof *specs) : NULL;
    for (size_t i = 0; specs && i < count; i++) {
        const json_t *from = json_array_get(list, i);
        specs[i] = (ParamSpec){.name = keep_text(from, "name"),
                               .summary = keep_text(from, "summary"),
                               .kind = kind_named(json_string_value(json_object_get(from, "kind"))),
                               .fallback = keep_text(from, "default"),
                               .min = json_number_value(json_object_get(from, "min")),
                               .max = json_number_value(json_object_get(from, "max")),
                               .choices = keep_texts(json_object_get(from, "choices"))};
    }
    return specs;
}

/* The entry learns what is kept; a module without anything kept is one that could not be made. */
static Status learn(VariantEntry *entry, const json_t *kept) {
    const json_t *variant = json_object_get(kept, "variant"), *code = json_object_get(kept, "code");
    lost = false;
    VariantFacts *facts = cleared(1, sizeof *facts);
    if (!lost)
        *facts = (VariantFacts){.summary = keep_text(variant, "summary"),
                                .origin = keep_text(variant, "origin"),
                                .library = keep_text(variant, "library"),
                                .tunables = keep_tunables(json_object_get(variant, "tunables")),
                                .dtypes = keep_texts(json_object_get(variant, "dtypes")),
                                .bound = keep_text(variant, "bound"),
                                .not_emulated = keep_text(variant, "not_emulated"),
                                .supports = json_is_true(json_object_get(variant, "supports")),
                                .configuration = json_is_true(json_object_get(variant, "configuration")),
                                .sass_hash = keep_text(code, "sass_hash"),
                                .host_hash = keep_text(code, "host_hash"),
                                .no_hash_reason = keep_text(code, "reason"),
                                .module = keep_text(kept, "module"),
                                .error = kept ? keep_text(kept, "error") : "there is no module of it"};
    entry->framework = keep_text(variant, "framework");
    if (entry->backend == BACKEND_PEER && !entry->framework) entry->framework = "unknown";
    entry->needs_gpu = json_is_true(json_object_get(variant, "needs_gpu"));
    entry->outputs = keep_texts(json_object_get(variant, "outputs"));
    entry->variant = facts;
    return lost ? status_fail(STATUS_MEMORY, "no memory for what is known of %s", entry->id) : STATUS_OK;
}

/* ---- Making them. */
typedef struct Wanted {
    const char **argv;
    int count;
} Wanted;

static Status make(const Wanted *wanted) {
    Text output = {0};
    int code = 0;
    if (!modules_settings()->found)
        return status_fail(STATUS_UNSUPPORTED, "%s has no settings.json: build this program again", modules_settings()->folder);
    if (!modules_settings()->root[0] && !strstr(wanted->argv[wanted->count - 1], "/try_"))
        return status_fail(STATUS_UNSUPPORTED, "%s is no part of this installed rungs", wanted->argv[wanted->count - 1]);
    Status status = process_capture(wanted->argv, &(ProcessLimits){.own_errors = true}, &output, &code);
    if (status == STATUS_OK && code != 0)
        status = status_fail(STATUS_UNSUPPORTED, "variants cannot be compiled: %s",
                             output.text ? output.text : "cmake/modules.py failed");
    text_free(&output);
    return status;
}

/* "PYTHON cmake/modules.py FOLDER OTHER KIND:ID:PATH..." for those that are missing or old. */
static Status make_stale(const VariantEntry *const *entries, int count, const ModuleKind *kind) {
    static const char *const KIND_OPTION[] = {
        [MODULE_NATIVE] = "native:", [MODULE_ASAN] = "asan:", [MODULE_RACE] = "race:", [MODULE_MEMORY] = "memory:"};
    Wanted wanted = {.argv = calloc((size_t)count + 6, sizeof *wanted.argv)};
    if (!wanted.argv) return status_fail(STATUS_MEMORY, "no memory for %d variants", count);
    wanted.argv[wanted.count++] = modules_settings()->python;
    wanted.argv[wanted.count++] = places_harness("cmake/modules.py");
    wanted.argv[wanted.count++] = modules_settings()->folder;
    wanted.argv[wanted.count++] = modules_tried();
    const int first = wanted.count;
    for (int i = 0; i < count; i++) {
        json_t *kept = load_kept(entries[i], kind[i]);
        char *word = NULL;
        if (!is_fresh(kept, entries[i], kind[i]) &&
            asprintf(&word, "%s%s:%s", KIND_OPTION[kind[i]], entries[i]->id, entries[i]->path) > 0)
            wanted.argv[wanted.count++] = word;
        json_decref(kept);
    }
    const Status status = wanted.count > first ? make(&wanted) : STATUS_OK;
    for (int i = first; i < wanted.count; i++) free((char *)(uintptr_t)wanted.argv[i]);
    free(wanted.argv);
    return status;
}

static bool is_known(const VariantEntry *entry) {
    return entry->framework || entry->variant->summary || entry->variant->error;
}

Status modules_need(void) {
    int total, count = 0;
    VariantEntry *all = registry_variants(&total);
    const VariantEntry **chosen = calloc((size_t)total + 1, sizeof *chosen);
    ModuleKind *kinds = calloc((size_t)total + 1, sizeof *kinds);
    Status status = chosen && kinds ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for %d variants", total);
    for (VariantEntry *entry = all; entry < all + total && status == STATUS_OK; entry++) {
        if (!entry->wanted || is_known(entry)) continue;
        entry->wanted = false;
        if (modules_selected(entry)) {
            kinds[count] = modules_kind(entry);
            chosen[count++] = entry;
            continue;
        }
        json_t *kept = load_kept(entry, modules_kind(entry)); /* what is known without making it */
        if (is_fresh(kept, entry, modules_kind(entry))) status = learn(entry, kept);
        json_decref(kept);
    }
    if (status == STATUS_OK) status = make_stale(chosen, count, kinds);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        json_t *kept = load_kept(chosen[i], kinds[i]);
        status = learn(&all[chosen[i] - all], kept);
        json_decref(kept);
    }
    free(chosen);
    free(kinds);
    return status;
}

Status modules_need_one(const VariantEntry *entry) {
    int total;
    VariantEntry *all = registry_variants(&total);
    for (int i = 0; i < total; i++) all[i].wanted = all[i].wanted || !entry || entry == &all[i];
    return modules_need();
}

/* What was planned is what runs: another process may have made it anew from a changed file. */
static Status still_the_same(const VariantEntry *entry, ModuleKind kind) {
    char module[80];
    json_t *kept = load_kept(entry, kind);
    if (!kept)
        return status_fail(STATUS_MEMORY, "%s: what is kept of its module cannot be read, or there is no memory: start it again",
                           entry->path);
    copy_text(kept, "module", module, sizeof module);
    json_decref(kept);
    if (entry->variant->module && strcmp(entry->variant->module, module) == 0) return STATUS_OK;
    return status_fail(STATUS_INVALID,
                       "%s has been compiled anew since this run began, or another file of its name: start it again", entry->path);
}

Status modules_make(const VariantEntry *entry, ModuleKind kind) {
    char error[1024];
    if (kind != MODULE_NATIVE && !modules_settings()->emulated)
        return status_fail(STATUS_UNSUPPORTED, "this build of rungs has no emulator");
    if (is_known(entry) && kind == modules_kind(entry)) return still_the_same(entry, kind);
    TRY(make_stale(&entry, 1, &kind));
    json_t *kept = load_kept(entry, kind);
    copy_text(kept, "error", error, sizeof error);
    json_decref(kept);
    return error[0] ? status_fail(STATUS_INVALID, "%s", error) : STATUS_OK;
}
