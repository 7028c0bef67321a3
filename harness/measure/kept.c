/* kept.c - what the harness calls in the process of a Python library, and whether it is what it was before the library's code:
 * names of modules, classes and objects with what they stand for, and functions with their code. Looked at here, because whatever
 * looks in Python can be replaced in Python. What was told before kept_seal() lies in pages that nobody writes (device/confine.h);
 * of one command are functions and objects told later. Python's own functions are found by name, so that this needs none of its
 * headers. */
#include "measure/kept.h"

#include "base/process.h"
#include "measure/measure.h"
#include "protocol.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of Python's C API. Those that return a reference of ours have `new` in their names; none of them calls Python code for what is
 * asked here: dictionaries are walked, since a look-up would compare keys. */
typedef struct Python {
    int (*next)(void *dictionary, ptrdiff_t *at, void **key, void **value);
    void *(*code)(void *), *(*defaults)(void *), *(*keywords)(void *), *(*closure)(void *);
    ptrdiff_t (*size)(void *tuple);
    void *(*item)(void *tuple, ptrdiff_t i), *(*new_content)(void *cell), *(*new_type)(void *), *(*new_result)(void *);
    int (*compare)(void *, void *, int how);
    const char *(*text)(void *);
    void (*hold)(void *), (*release)(void *);
    int (*begin)(void);
    void (*end)(int);
} Python;

static const char *const API[] = {"PyDict_Next",
                                  "PyFunction_GetCode",
                                  "PyFunction_GetDefaults",
                                  "PyFunction_GetKwDefaults",
                                  "PyFunction_GetClosure",
                                  "PyTuple_Size",
                                  "PyTuple_GetItem",
                                  "PyCell_Get",
                                  "PyObject_Type",
                                  "PyObject_CallNoArgs",
                                  "PyObject_RichCompareBool",
                                  "PyUnicode_AsUTF8",
                                  "Py_IncRef",
                                  "Py_DecRef",
                                  "PyGILState_Ensure",
                                  "PyGILState_Release"};
enum { API_COUNT = sizeof API / sizeof *API, PY_EQ = 2 };
_Static_assert(sizeof(Python) == API_COUNT * sizeof(void *), "a pointer for each name");

typedef struct Pair {
    void *key, *value; /* a name and what it stands for, NULL: anything; a cell and its content */
} Pair;

typedef struct Names {
    void *dictionary, *object, *type, *name; /* object: whose they are, NULL: a module's or a class's */
    const char *where;
    size_t first, count; /* pairs */
    int rank;
    bool all; /* no further ones may come */
} Names;

enum { HELD = 8 };

typedef struct Function {
    void *function, *code, *twin, *defaults, *keywords,
        *closure; /* twin: a copy of the code that nothing runs; NULL: not compared */
    const char *where, *name;
    size_t first, count; /* pairs: the cells of a function that has a twin */
    void *held[HELD];
    int rank;
} Function;

typedef struct Table {
    Pair *pairs;
    Names *names;
    Function *functions;
    size_t pair_count, name_count, function_count, pair_room, name_room, function_room;
} Table;

typedef struct Sealed {
    Python python;
    Table table;
    void *none, *hooks[2]; /* sys.getprofile, sys.gettrace */
    int replies;
} Sealed;

/* Behind an address that is in the code and in no memory that could be written. */
enum { PAGE_MOST = 1 << 16, ROOM = 32 << 20 };
static unsigned char room[ROOM + PAGE_MOST];
static Python opened;
static Table told; /* to be sealed; then: of one command */

static const Sealed *sealed(void) {
    return (const Sealed *)(((uintptr_t)room + PAGE_MOST - 1) & ~(uintptr_t)(PAGE_MOST - 1));
}

Status kept_open(void) {
    for (size_t i = 0; i < API_COUNT; i++) {
        void *function = dlsym(RTLD_DEFAULT, API[i]);
        if (!function) return status_fail(STATUS_UNSUPPORTED, "this Python has no %s", API[i]);
        memcpy((char *)&opened + i * sizeof function, &function, sizeof function);
    }
    return STATUS_OK;
}

/* The array with room for one more, which may be elsewhere; NULL: there is none, and the array stays. */
static void *grown(void *array, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return array;
    const size_t more = *capacity ? 2 * *capacity : 1024;
    void *to = realloc(array, more * size);
    if (to) *capacity = more;
    return to;
}

static void hold(void *object) {
    if (object) opened.hold(object);
}

static void release(void *object) {
    if (object) opened.release(object);
}

static bool add_pair(void *key, void *value) {
    Pair *pairs = grown(told.pairs, told.pair_count, &told.pair_room, sizeof *told.pairs);
    if (!pairs) return false;
    hold(key), hold(value);
    told.pairs = pairs;
    told.pairs[told.pair_count++] = (Pair){key, value};
    return true;
}

static Status no_memory(void) {
    return status_fail(STATUS_MEMORY, "no memory for what a worker keeps");
}

/* Is the key the next of these? */
static bool is_next(void *keys, size_t at, const void *key) {
    return (ptrdiff_t)at < opened.size(keys) && opened.item(keys, (ptrdiff_t)at) == key;
}

Status kept_names(void *where, void *dictionary, void *keys, void *changing, void *object, int rank, bool all) {
    Names *all_names = grown(told.names, told.name_count, &told.name_room, sizeof *told.names);
    if (!all_names) return no_memory();
    told.names = all_names;
    Names names = {.dictionary = dictionary, .where = opened.text(where), .first = told.pair_count, .rank = rank, .all = all};
    void *key, *value;
    size_t stays = 0, changes = 0;
    for (ptrdiff_t at = 0; opened.next(dictionary, &at, &key, &value);) {
        const bool kept = is_next(keys, stays, key), known = is_next(changing, changes, key);
        if ((kept || known) && !add_pair(key, kept ? value : NULL)) return no_memory();
        stays += kept, changes += known;
    }
    names.count = stays + changes;
    if ((ptrdiff_t)names.count < opened.size(keys) + opened.size(changing))
        return status_fail(STATUS_INTERNAL, "%s: names in another order", names.where);
    names.type = object ? opened.new_type(object) : NULL;
    names.object = object;
    hold(where), hold(dictionary), hold(object);
    names.name = where;
    told.names[told.name_count++] = names;
    return STATUS_OK;
}

Status kept_function(void *where, void *name, void *function, void *twin, int rank) {
    Function *functions = grown(told.functions, told.function_count, &told.function_room, sizeof *told.functions);
    if (!functions) return no_memory();
    told.functions = functions;
    Function kept = {.function = function,
                     .code = opened.code(function),
                     .defaults = opened.defaults(function),
                     .keywords = opened.keywords(function),
                     .closure = opened.closure(function),
                     .twin = twin,
                     .where = opened.text(where),
                     .name = opened.text(name),
                     .first = told.pair_count,
                     .rank = rank};
    void *const held[HELD] = {where, name, function, twin, kept.code, kept.defaults, kept.keywords, kept.closure};
    for (int i = 0; i < HELD; i++) hold(kept.held[i] = held[i]);
    for (ptrdiff_t i = 0; twin && kept.closure && i < opened.size(kept.closure); i++) {
        void *cell = opened.item(kept.closure, i), *content = opened.new_content(cell);
        const bool added = add_pair(cell, content);
        release(content);
        if (!added) return no_memory();
        kept.count++;
    }
    told.functions[told.function_count++] = kept;
    return STATUS_OK;
}

static size_t put(int file, size_t at, const void *data, size_t bytes) {
    return bytes > 0 && pwrite(file, data, bytes, (off_t)at) != (ssize_t)bytes ? SIZE_MAX : at + bytes;
}

Status kept_seal(int replies, void *none, void *profile, void *trace) {
    unsigned char *begin = (unsigned char *)(uintptr_t)sealed();
    const size_t pairs = told.pair_count * sizeof *told.pairs, names = told.name_count * sizeof *told.names,
                 functions = told.function_count * sizeof *told.functions, bytes = sizeof(Sealed) + pairs + names + functions;
    Sealed head = {opened, told, none, {profile, trace}, replies};
    if (bytes > ROOM) return status_fail(STATUS_INTERNAL, "a worker keeps more than %d bytes", ROOM);
    head.table.pairs = (Pair *)(void *)(begin + sizeof head);
    head.table.names = (Names *)(void *)(begin + sizeof head + pairs);
    head.table.functions = (Function *)(void *)(begin + sizeof head + pairs + names);
    opened.hold(none), opened.hold(profile), opened.hold(trace);
    const int file = memfd_create(PROCESS_KEPT_FILE, MFD_CLOEXEC);
    size_t at = file < 0 ? SIZE_MAX : put(file, 0, &head, sizeof head);
    at = at == SIZE_MAX ? at : put(file, at, told.pairs, pairs);
    at = at == SIZE_MAX ? at : put(file, at, told.names, names);
    at = at == SIZE_MAX ? at : put(file, at, told.functions, functions);
    const void *mapped = at == SIZE_MAX ? MAP_FAILED : mmap(begin, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
    if (file >= 0) close(file);
    if (mapped == MAP_FAILED) return no_memory();
    told.pair_count = told.name_count = told.function_count = 0;
    return STATUS_OK;
}

void kept_forget(void) {
    const Table gone = told;
    told = (Table){0}; /* first: what is released may call the library's code */
    for (size_t i = 0; i < gone.pair_count; i++) release(gone.pairs[i].key), release(gone.pairs[i].value);
    for (size_t i = 0; i < gone.name_count; i++) {
        const Names *names = &gone.names[i];
        release(names->name), release(names->dictionary), release(names->object), release(names->type);
    }
    for (size_t i = 0; i < gone.function_count; i++)
        for (int k = 0; k < HELD; k++) release(gone.functions[i].held[k]);
    free(gone.pairs), free(gone.names), free(gone.functions);
}

/* ---- Is it as it was? */

/* The reply is given here, and nothing runs behind it. */
static _Noreturn void refuse(const char *what, const char *where, const char *name, const char *why) {
    char words[512];
    snprintf(words, sizeof words, "%s %s%s%s%s", what, where, *name ? "." : "", name, why);
    for (char *c = words; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\') *c = '?';
    (void)dprintf(sealed()->replies, "{\"%s\": \"%s\", \"%s\": \"%s\"}\n", KEY_ERROR, words, KEY_KIND, status_word(STATUS_CHECK));
    _exit(0);
}

static _Noreturn void refuse_name(const char *where, const char *name) {
    refuse("replaces", where, name, ": what the harness calls in this process is not to be changed");
}

/* Python itself notes there that a warning was given. */
static bool may_come(const char *name) {
    return strcmp(name, "__warningregistry__") == 0;
}

static const char *name_in(const Python *python, void *key) {
    const char *name = python->text(key);
    return name ? name : "?";
}

static void expect_names(const Python *python, const Table *table, const Names *names) {
    const Pair *pair = table->pairs + names->first, *end = pair + names->count;
    void *key, *value;
    if (names->object) {
        void *type = python->new_type(names->object);
        python->release(type);
        if (type != names->type) refuse_name(names->where, "__class__");
    }
    for (ptrdiff_t at = 0; python->next(names->dictionary, &at, &key, &value);) {
        if (pair < end && key == pair->key) {
            if (pair->value && value != pair->value) refuse_name(names->where, name_in(python, key));
            pair++;
        } else if (names->all && !may_come(name_in(python, key))) {
            refuse_name(names->where, name_in(python, key));
        }
    }
    if (pair < end) refuse_name(names->where, name_in(python, pair->key));
}

static void expect_function(const Python *python, const Table *table, const Function *kept) {
    void *function = kept->function;
    bool same = python->code(function) == kept->code && python->defaults(function) == kept->defaults &&
                python->keywords(function) == kept->keywords && python->closure(function) == kept->closure;
    for (size_t i = 0; same && i < kept->count; i++) {
        const Pair *cell = table->pairs + kept->first + i;
        void *content = python->new_content(cell->key);
        if (content) python->release(content);
        same = content == cell->value;
    }
    if (!same || (kept->twin && python->compare(kept->code, kept->twin, PY_EQ) != 1)) refuse_name(kept->where, kept->name);
}

static void expect_table(const Python *python, const Table *table, int rank) {
    for (size_t i = 0; i < table->name_count; i++)
        if (table->names[i].rank <= rank) expect_names(python, table, &table->names[i]);
    for (size_t i = 0; i < table->function_count; i++)
        if (table->functions[i].rank <= rank) expect_function(python, table, &table->functions[i]);
}

void kept_expect(int rank) {
    const Sealed *self = sealed();
    if (!self->none) return;
    const int state = self->python.begin();
    for (int i = 0; i < 2; i++) {
        void *hook = self->python.new_result(self->hooks[i]);
        if (hook != self->none) refuse("sets", "a trace or profile function", "", ", which would compute outside of every sample");
        self->python.release(hook);
    }
    expect_table(&self->python, &self->table, rank);
    expect_table(&self->python, &told, rank);
    self->python.end(state);
}
