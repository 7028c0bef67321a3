/* A variant pattern with tunables -> the variants it names, each with one value per tunable. */
#include "base/joined.h"
#include "base/text.h"
#include "plan/build.h"
#include "plan/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES_LIMIT = 4096 };
static const char BLANKS[] = " \t\r\n";

typedef struct Choices {
    VariantChoice *items;
    int count, room;
} Choices;

static Status append(Choices *list, const VariantEntry *entry, const Params *tunables) {
    if (list->count == CHOICES_LIMIT) return status_fail(STATUS_INVALID, "more than %d combinations of tunables", CHOICES_LIMIT);
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 8;
        VariantChoice *grown = realloc(list->items, (size_t)room * sizeof *grown);
        if (!grown) return status_fail(STATUS_MEMORY, "no memory for %d variants", room);
        list->items = grown;
        list->room = room;
    }
    list->items[list->count++] = (VariantChoice){.entry = entry, .tunables = *tunables};
    return STATUS_OK;
}

/* One that is filtered away, or has no module: nothing is known of its tunables. */
static bool has_name_alone(const VariantEntry *entry) {
    return !entry->variant->tunables && (entry->variant->error || !modules_selected(entry));
}

/* One level per assignment; the last one varies fastest. */
static Status expand(const VariantEntry *entry, const Request *request, int level, const Params *tunables, Choices *list) {
    if (level == request->count) return append(list, entry, tunables);
    const Assignment *assignment = &request->assignments[level];
    for (const char *at = assignment->values;;) {
        char value[PARAM_TEXT_MAX];
        const size_t length = strcspn(at, ",");
        if (length >= sizeof value)
            return status_fail(STATUS_INVALID, "column %zu: a value of %zu characters; at most %zu are allowed", assignment->column,
                               length, sizeof value - 1);
        memcpy(value, at, length);
        value[length] = '\0';
        Params set = *tunables;
        const Status status = params_set(&set, assignment->name, value);
        if (status != STATUS_OK) return status_prefix(status, "column %zu: %s: ", assignment->column, entry->id);
        TRY(expand(entry, request, level + 1, &set, list));
        if (at[length] == '\0') return STATUS_OK;
        at += length + 1;
    }
}

static Status read_assignment(Request *request, char *word, size_t column) {
    char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return status_fail(STATUS_INVALID, "column %zu: '%.80s' is not allowed here; name=value is expected, such as threads=64",
                           column, word);
    *equals = '\0';
    if (request->count == PARAMS_MAX) return status_fail(STATUS_INVALID, "column %zu: more than %d tunables", column, PARAMS_MAX);
    for (int i = 0; i < request->count; i++)
        if (strcmp(request->assignments[i].name, word) == 0)
            return status_fail(STATUS_INVALID, "column %zu: '%s' is given twice; once is allowed", column, word);
    request->assignments[request->count++] = (Assignment){word, equals + 1, column};
    return STATUS_OK;
}

Status request_read(const char *begin, char *line, Request *out) {
    *out = (Request){0};
    for (char *word = line + strspn(line, BLANKS); *word;) {
        const size_t column = (size_t)(word - begin) + 1;
        char *end = word + strcspn(word, BLANKS);
        char *next = end + strspn(end, BLANKS);
        *end = '\0';
        if (out->pattern)
            TRY(read_assignment(out, word, column));
        else
            *out = (Request){.pattern = word, .column = column};
        word = next;
    }
    return out->pattern ? STATUS_OK : status_fail(STATUS_INVALID, "column 1: a variant is expected, such as cuda_* or cpu_naive");
}

static bool matches(const Request *request, const char *id) {
    return text_glob(request->pattern, id) || text_glob(request->pattern, strchr(id, '/') + 1);
}

static bool assigns(const Request *request, const char *name) {
    for (int i = 0; i < request->count; i++)
        if (strcmp(request->assignments[i].name, name) == 0) return true;
    return false;
}

bool request_may_name(const Request *request, const VariantEntry *entry) {
    const JoinedVariant *form;
    for (int k = 0; (form = joined_form(entry->id, k)); k++)
        if (matches(request, form->before)) return true;
    return matches(request, entry->id);
}

bool request_names(const Request *request, const VariantChoice *choice) {
    const char *const id = choice->entry->id;
    const JoinedVariant *form;
    if (has_name_alone(choice->entry)) return request_may_name(request, choice->entry);
    for (int k = 0; (form = joined_form(id, k)); k++)
        if (!assigns(request, form->tunable) && params_int(&choice->tunables, form->tunable) == atoll(form->value))
            return matches(request, form->before);
    return matches(request, id);
}

static Status no_match(const Op *op, const Request *request) {
    char id[SPEC_TEXT_MAX];
    const VariantEntry *ignored;
    snprintf(id, sizeof id, "%s%s%s", strchr(request->pattern, '/') ? "" : op->name, strchr(request->pattern, '/') ? "" : "/",
             request->pattern);
    const Status status = registry_require_variant(id, &ignored);
    if (status != STATUS_OK) return status_prefix(status, "column %zu: ", request->column);
    return status_fail(STATUS_INVALID, "column %zu: '%s' is no variant of %s", request->column, request->pattern, op->name);
}

void variants_want(const Op *op, const char *pattern) {
    int count;
    VariantEntry *all = registry_variants(&count);
    for (VariantEntry *entry = all; entry < all + count; entry++)
        if (strcmp(entry->op, op->name) == 0 && request_may_name(&(Request){.pattern = pattern}, entry)) entry->wanted = true;
}

static Status add(const VariantEntry *entry, const Request *request, const Params *tunables, Choices *list) {
    const int first = list->count;
    TRY(expand(entry, request, 0, tunables, list));
    const Status complete = params_complete(&list->items[first].tunables);
    return complete == STATUS_OK ? complete : status_prefix(complete, "column %zu: %s: ", request->column, entry->id);
}

static Status find(const Op *op, const Request *request, Choices *list) {
    int count;
    const VariantEntry *all = registry_variants(&count);
    variants_want(op, request->pattern);
    TRY(modules_need());
    for (int i = 0; i < count; i++) {
        const VariantEntry *entry = &all[i];
        if (strcmp(entry->op, op->name) != 0 || !request_may_name(request, entry)) continue;
        if (has_name_alone(entry)) {
            TRY(append(list, entry, &(Params){0}));
            continue;
        }
        Params tunables;
        TRY(params_init(entry->variant->tunables, &tunables));
        const JoinedVariant *form = joined_form(entry->id, 0);
        if (!form || assigns(request, form->tunable)) {
            if (matches(request, entry->id)) TRY(add(entry, request, &tunables, list));
            continue;
        }
        for (int k = 0; (form = joined_form(entry->id, k)); k++) {
            TRY(params_set(&tunables, form->tunable, form->value));
            if (matches(request, form->before)) TRY(add(entry, request, &tunables, list));
        }
    }
    return list->count ? STATUS_OK : no_match(op, request);
}

Status variant_choices_parse(const Op *op, const char *text, VariantChoice **out, int *count) {
    char line[SPEC_TEXT_MAX];
    *out = NULL;
    *count = 0;
    if (strlen(text) >= sizeof line)
        return status_fail(STATUS_INVALID, "column %zu: at most %zu characters are allowed, not %zu", sizeof line, sizeof line - 1,
                           strlen(text));
    snprintf(line, sizeof line, "%s", text);
    Request request;
    Choices list = {0};
    TRY(request_read(line, line, &request));
    const Status status = find(op, &request, &list);
    if (status == STATUS_OK)
        *out = list.items, *count = list.count;
    else
        free(list.items);
    return status;
}

char *variant_choice_format(const VariantChoice *choice, char *text, size_t size) {
    const int used = snprintf(text, size, "%s", choice->entry->id);
    if (used >= 0 && (size_t)used < size) params_format(&choice->tunables, false, text + used, size - (size_t)used);
    return text;
}

const VariantChoice *variant_choice_find(const VariantChoice *choices, int count, const VariantChoice *wanted) {
    char text[SPEC_TEXT_MAX], other[SPEC_TEXT_MAX];
    variant_choice_format(wanted, text, sizeof text);
    for (const VariantChoice *choice = choices; choice < choices + count; choice++)
        if (choice->entry == wanted->entry && strcmp(variant_choice_format(choice, other, sizeof other), text) == 0) return choice;
    return NULL;
}

/* ---- --variants: a list of patterns with tunables -> the choices of a plan that it names. "-cuda_apply" takes away what those
 * before it name, or of everything, if none is before it. */

typedef struct Filter {
    char *text; /* what the requests point into */
    Request *requests;
    int count;
    bool has_tunables;
} Filter;

static void filter_free(Filter *filter) {
    free(filter->text);
    free(filter->requests);
}

static Status filter_add(Filter *filter, char *piece) {
    piece += strspn(piece, " \t\r\n");
    if (!*piece) return STATUS_OK;
    Request *request = &filter->requests[filter->count++];
    const bool removes = *piece == '-';
    TRY(request_read(filter->text, piece + removes, request));
    request->removes = removes;
    filter->has_tunables |= request->count > 0;
    return !removes || request->count == 0
               ? STATUS_OK
               : status_fail(STATUS_INVALID, "'-%.200s' removes whole variants; it cannot have tunables", request->pattern);
}

static Status filter_read(const char *list, Filter *out) {
    size_t pieces = 1;
    for (const char *at = list; *at; at++) pieces += *at == ',';
    *out = (Filter){.text = strdup(list), .requests = calloc(pieces, sizeof *out->requests)};
    if (!out->text || !out->requests) return status_fail(STATUS_MEMORY, "no memory for a list of %zu variants", pieces);
    for (char *at = out->text; at;) {
        char *comma = strchr(at, ',');
        if (comma) *comma = '\0';
        TRY(filter_add(out, at));
        at = comma ? comma + 1 : NULL;
    }
    return out->count ? STATUS_OK
                      : status_fail(STATUS_INVALID, "the list of variants is empty; expected globs such as cuda_*,cpu_naive");
}

/* A glob that matches nothing in the plan is refused with the names that are there. */
static Status require_match(const Plan *plan, const Filter *filter, const Request *request) {
    const char *names[64];
    int count = 0;
    Text known = {0};
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++) {
            const VariantEntry *entry = plan->items[i].variants[v].entry;
            if (request_names(request, &plan->items[i].variants[v])) {
                text_free(&known);
                return STATUS_OK;
            }
            int k = 0;
            while (k < count && strcmp(names[k], entry->id) != 0) k++;
            if (k < count || count == 64) continue;
            names[count++] = entry->id;
            TRY(text_append(&known, "%s%s", k ? ", " : "", entry->id));
        }
    const Status status = status_fail(
        STATUS_INVALID, "'%.200s' matches no variant of this plan%s (there are: %s)", request->pattern,
        filter->has_tunables ? "; a comma begins the next pattern: for two values write 'NAME threads=64,NAME threads=128'" : "",
        known.text ? known.text : "none");
    text_free(&known);
    return status;
}

/* The choice with the tunables of the request; *same says whether it had them already. */
static Status set_tunables(const Request *request, const VariantChoice *choice, VariantChoice *out, bool *same) {
    char before[SPEC_TEXT_MAX], after[SPEC_TEXT_MAX];
    *out = *choice;
    *same = true;
    if (request->count == 0 || (choice->entry->variant->error && !choice->entry->variant->tunables)) return STATUS_OK;
    for (int i = 0; i < request->count; i++) {
        const Assignment *assignment = &request->assignments[i];
        const Status status = params_set(&out->tunables, assignment->name, assignment->values);
        if (status != STATUS_OK) return status_prefix(status, "column %zu: %s: ", assignment->column, choice->entry->id);
    }
    variant_choice_format(choice, before, sizeof before);
    *same = strcmp(before, variant_choice_format(out, after, sizeof after)) == 0;
    return STATUS_OK;
}

/* Is the variant in the item with these tunables? If so, its other choices are what the request leaves out. */
static Status any_agrees(const PlanItem *item, const VariantEntry *entry, const Request *request, bool *out) {
    VariantChoice ignored;
    *out = false;
    for (int v = 0; v < item->variant_count && !*out; v++)
        if (item->variants[v].entry == entry) TRY(set_tunables(request, &item->variants[v], &ignored, out));
    return STATUS_OK;
}

/* What the filter makes of the item's choices, into `out`, which has room for one per choice and request. */
static Status choose(const Filter *filter, const PlanItem *item, VariantChoice *out, int *count) {
    for (int v = 0; v < item->variant_count; v++) {
        const VariantChoice *choice = &item->variants[v];
        const int before = *count;
        bool taken = filter->requests[0].removes;
        if (taken) out[(*count)++] = *choice;
        for (int r = 0; r < filter->count; r++) {
            const Request *request = &filter->requests[r];
            bool same, listed = true;
            if (!request_names(request, choice)) continue;
            if (request->removes) {
                *count = before;
                taken = false;
                continue;
            }
            TRY(set_tunables(request, choice, &out[*count], &same));
            if (!same) TRY(any_agrees(item, choice->entry, request, &listed));
            if (same ? !taken : !listed && !variant_choice_find(out, *count, &out[*count])) ++*count;
            taken |= same;
        }
    }
    return STATUS_OK;
}

static Status filter_item(const Filter *filter, PlanItem *item) {
    int count = 0;
    const size_t room = (size_t)item->variant_count * (size_t)(filter->count + 1) + 1; /* one to try in */
    VariantChoice *chosen = malloc(room * sizeof *chosen);
    if (!chosen) return status_fail(STATUS_MEMORY, "no memory for %zu variants", room);
    const Status status = choose(filter, item, chosen, &count);
    free(status == STATUS_OK ? item->variants : chosen);
    if (status == STATUS_OK) item->variants = chosen, item->variant_count = count;
    return status;
}

static void drop_empty_items(Plan *plan) {
    int kept = 0;
    for (int i = 0; i < plan->item_count; i++) {
        if (plan->items[i].variant_count > 0)
            plan->items[kept++] = plan->items[i];
        else
            free(plan->items[i].variants);
    }
    plan->item_count = kept;
}

Status plan_filter(Plan *plan, const char *list) {
    Filter filter;
    Status status = filter_read(list, &filter);
    for (int i = 0; status == STATUS_OK && i < filter.count; i++) {
        status = require_match(plan, &filter, &filter.requests[i]);
        if (status == STATUS_INVALID && plan->left_out) status = plan_leave_out(plan, filter.requests[i].pattern);
    }
    for (int i = 0; status == STATUS_OK && i < plan->item_count; i++) status = filter_item(&filter, &plan->items[i]);
    if (status == STATUS_OK) drop_empty_items(plan);
    filter_free(&filter);
    return status;
}
