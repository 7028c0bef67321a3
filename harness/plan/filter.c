/* --variants: a list of patterns with tunables -> the choices of a plan that it names. "-cuda_apply" takes away what those before
 * it name, or of everything, if none is before it. */
#include "base/text.h"
#include "plan/build.h"

#include <stdlib.h>
#include <string.h>

typedef struct Filter {
    char *text; /* what the requests point into */
    Request *requests;
    bool *removes; /* of each request: does it take away? */
    int count;
    bool has_tunables;
} Filter;

static void filter_free(Filter *filter) {
    free(filter->text);
    free(filter->requests);
    free(filter->removes);
}

static Status filter_add(Filter *filter, char *piece) {
    piece += strspn(piece, " \t\r\n");
    if (!*piece) return STATUS_OK;
    Request *request = &filter->requests[filter->count];
    bool *removes = &filter->removes[filter->count++];
    *removes = *piece == '-';
    TRY(request_read(filter->text, piece + *removes, request));
    filter->has_tunables |= request->count > 0;
    return !*removes || request->count == 0
               ? STATUS_OK
               : status_fail(STATUS_INVALID, "'-%.200s' removes whole variants; it cannot have tunables", request->pattern);
}

static Status filter_read(const char *list, Filter *out) {
    size_t pieces = 1;
    for (const char *at = list; *at; at++) pieces += *at == ',';
    *out = (Filter){
        .text = strdup(list), .requests = calloc(pieces, sizeof *out->requests), .removes = calloc(pieces, sizeof *out->removes)};
    if (!out->text || !out->requests || !out->removes)
        return status_fail(STATUS_MEMORY, "no memory for a list of %zu variants", pieces);
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
static Status apply(const Request *request, const VariantChoice *choice, VariantChoice *out, bool *same) {
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
        if (item->variants[v].entry == entry) TRY(apply(request, &item->variants[v], &ignored, out));
    return STATUS_OK;
}

static bool is_among(const VariantChoice *choices, int count, const VariantChoice *wanted) {
    char text[SPEC_TEXT_MAX], other[SPEC_TEXT_MAX];
    variant_choice_format(wanted, text, sizeof text);
    for (int i = 0; i < count; i++)
        if (strcmp(text, variant_choice_format(&choices[i], other, sizeof other)) == 0) return true;
    return false;
}

/* What the filter makes of the item's choices, into `out`, which has room for one per choice and request. */
static Status choose(const Filter *filter, const PlanItem *item, VariantChoice *out, int *count) {
    for (int v = 0; v < item->variant_count; v++) {
        const VariantChoice *choice = &item->variants[v];
        const int before = *count;
        bool taken = filter->removes[0];
        if (taken) out[(*count)++] = *choice;
        for (int r = 0; r < filter->count; r++) {
            const Request *request = &filter->requests[r];
            bool same, listed = true;
            if (!request_names(request, choice)) continue;
            if (filter->removes[r]) {
                *count = before;
                taken = false;
                continue;
            }
            TRY(apply(request, choice, &out[*count], &same));
            if (!same) TRY(any_agrees(item, choice->entry, request, &listed));
            if (same ? !taken : !listed && !is_among(out, *count, &out[*count])) ++*count;
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
    if (status != STATUS_OK) {
        free(chosen);
        return status;
    }
    VariantChoice *shrunk = realloc(chosen, (count ? (size_t)count : 1) * sizeof *chosen);
    free(item->variants);
    item->variants = shrunk ? shrunk : chosen;
    item->variant_count = count;
    return STATUS_OK;
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
