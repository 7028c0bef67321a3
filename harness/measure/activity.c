#include "measure/counts.h"

#include <stdlib.h>
#include <string.h>

Activity *activity_add(ActivityList *list) {
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        Activity *items = realloc(list->items, room * sizeof *items);
        if (!items) {
            list->no_memory = true;
            return NULL;
        }
        list->items = items, list->room = room;
    }
    Activity *item = &list->items[list->count++];
    memset(item, 0, sizeof *item);
    return item;
}

static int earlier(const void *left, const void *right) {
    const Activity *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

void activity_sort(ActivityList *list) {
    if (list->count > 1) qsort(list->items, list->count, sizeof *list->items, earlier);
}

void activity_free(ActivityList *list) {
    free(list->items);
    *list = (ActivityList){0};
}

/* The '(' of the parameter list: the first outside of <> that is not "(anonymous namespace)". */
static const char *parameters_of(const char *name) {
    static const char ANONYMOUS[] = "(anonymous namespace)";
    int depth = 0;
    for (const char *c = name; *c; c++) {
        if (*c == '<') depth++;
        if (*c == '>' && depth > 0) depth--;
        if (*c != '(' || depth > 0) continue;
        if (strncmp(c, ANONYMOUS, sizeof ANONYMOUS - 1) != 0) return c;
        c += sizeof ANONYMOUS - 2;
    }
    return name + strlen(name);
}

/* Behind the return type, which only templates have: the last blank outside of <>. */
static const char *behind_return_type(const char *name, const char *end) {
    const char *begin = name;
    int depth = 0;
    for (const char *c = name; c < end; c++) {
        if (*c == '<' || *c == '(') depth++;
        if ((*c == '>' || *c == ')') && depth > 0) depth--;
        if (*c == ' ' && depth == 0) begin = c + 1;
    }
    return begin;
}

void activity_take_stream(ActivityList *list, const char *kernel) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != ACTIVITY_KERNEL || strcmp(list->items[i].name, kernel) != 0) continue;
        list->stream = list->items[i].stream;
        list->count--;
        memmove(list->items + i, list->items + i + 1, (list->count - i) * sizeof *list->items);
        return;
    }
}

size_t activity_elsewhere(const ActivityList *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->count && list->stream != 0; i++)
        count += list->items[i].kind == ACTIVITY_KERNEL && list->items[i].stream != list->stream;
    return count;
}

void activity_short_name(const char *demangled, char out[ACTIVITY_NAME_MAX]) {
    static const char CUT[] = "...";
    const char *end = parameters_of(demangled);
    const char *begin = behind_return_type(demangled, end);
    const size_t length = (size_t)(end - begin), most = ACTIVITY_NAME_MAX - 1;
    if (length <= most) {
        memcpy(out, begin, length);
        out[length] = '\0';
        return;
    }
    memcpy(out, begin, most - (sizeof CUT - 1));
    memcpy(out + most - (sizeof CUT - 1), CUT, sizeof CUT);
}

static double seconds_of(const Activity *item) {
    return item->end > item->begin ? 1e-9 * (double)(item->end - item->begin) : 0;
}

static bool same_launch(const Activity *a, const Activity *b) {
    return a->registers == b->registers && a->shared_bytes == b->shared_bytes && strcmp(a->name, b->name) == 0 &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 && memcmp(a->block, b->block, sizeof a->block) == 0;
}

size_t activity_groups(const ActivityList *list, KernelGroup *groups, size_t room) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const Activity *item = &list->items[i];
        if (item->kind != ACTIVITY_KERNEL) continue;
        size_t g = 0;
        while (g < count && g < room && !same_launch(groups[g].kernel, item)) g++;
        if (g < count && g < room) {
            groups[g].launches++;
            groups[g].seconds += seconds_of(item);
            continue;
        }
        if (count < room) groups[count] = (KernelGroup){.kernel = item, .launches = 1, .seconds = seconds_of(item)};
        count++;
    }
    return count;
}

size_t activity_count(const ActivityList *list, ActivityKind kind) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) count += list->items[i].kind == kind;
    return count;
}

double activity_seconds(const ActivityList *list, ActivityKind kind) {
    double seconds = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == kind) seconds += seconds_of(&list->items[i]);
    return seconds;
}

const Activity *activity_longest_kernel(const ActivityList *list) {
    const Activity *longest = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const Activity *item = &list->items[i];
        if (item->kind == ACTIVITY_KERNEL && (!longest || seconds_of(item) > seconds_of(longest))) longest = item;
    }
    return longest;
}
