/* A plan in parts for several machines. What is compared stays together: the rows of one case, and those of a claim and its
 * baseline, so that each part can be judged by itself. Which row goes where follows from the plan alone, not from the machine. */
#include "plan/case.h"
#include "plan/scenario.h"

#include <math.h>
#include <stdlib.h>

static const double LINE_SECONDS = 1e-3; /* that writing a row takes, about */

/* Items that stay together, known by the first of them in the plan. */
typedef struct Group {
    int first;
    double seconds; /* that their rows take, about */
} Group;

typedef struct Sharding {
    json_t *first; /* of each case, as text: the first item with it */
    int *together; /* of each item: an earlier item of its group, or itself */
    Group *groups; /* the dearest first */
    int *shard;    /* of the group that begins with this item: 1 .. count */
    int items, group_count;
} Sharding;

static int first_of(const Sharding *self, int item) {
    while (self->together[item] != item) item = self->together[item];
    return item;
}

static void join(Sharding *self, int a, int b) {
    a = first_of(self, a), b = first_of(self, b);
    self->together[a < b ? b : a] = a < b ? a : b;
}

/* An item with the case; -1: the plan has none. */
static int item_of(const Sharding *self, const char *problem) {
    const json_t *found = json_object_get(self->first, problem);
    return found ? (int)json_integer_value(found) : -1;
}

/* An item with rows of the claim; -1: the plan has none. */
static int item_of_claim(const Sharding *self, const Claim *claim) {
    const int item = claim->problem ? item_of(self, claim->problem) : -1;
    return item < 0 && claim->baseline_problem ? item_of(self, claim->baseline_problem) : item;
}

static void join_items(const Plan *plan, Sharding *self) {
    char text[CASE_TEXT_MAX];
    for (int i = 0; i < plan->item_count; i++) {
        const int first = item_of(self, case_format(&plan->items[i].problem, text, sizeof text));
        if (first < 0) json_object_set_new(self->first, text, json_integer(i));
        self->together[i] = first < 0 ? i : first;
    }
    for (int c = 0; c < plan->claim_count; c++) {
        const Claim *claim = &plan->claims[c];
        const int item = item_of_claim(self, claim), other = claim->baseline_problem ? item_of(self, claim->baseline_problem) : -1;
        if (item >= 0 && other >= 0) join(self, item, other);
    }
}

static int dearest_first(const void *a, const void *b) {
    const Group *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->first - y->first;
}

static void make_groups(const Plan *plan, Sharding *self) {
    for (int i = 0; i < self->items; i++) self->groups[i] = (Group){.first = i};
    for (int i = 0; i < self->items; i++) self->groups[first_of(self, i)].seconds += plan_item_seconds(&plan->items[i]);
    for (int i = 0; i < self->items; i++)
        if (self->together[i] == i) self->groups[self->group_count++] = self->groups[i];
    qsort(self->groups, (size_t)self->group_count, sizeof *self->groups, dearest_first);
}

/* Each group goes to the shard that has least until now. What is not run costs a line. */
static void deal(Sharding *self, double *load, int count) {
    for (int g = 0; g < self->group_count; g++) {
        int least = 0;
        for (int s = 1; s < count; s++)
            if (load[s] < load[least]) least = s;
        load[least] += fmax(self->groups[g].seconds, LINE_SECONDS);
        self->shard[self->groups[g].first] = least + 1;
    }
}

static void keep(Plan *plan, const Sharding *self, int index) {
    int items = 0, claims = 0;
    for (int c = 0; c < plan->claim_count; c++) { /* those without rows here: in the first, so that each is judged once */
        const int item = item_of_claim(self, &plan->claims[c]);
        if ((item < 0 ? 1 : self->shard[first_of(self, item)]) == index) plan->claims[claims++] = plan->claims[c];
    }
    for (int i = 0; i < plan->item_count; i++)
        if (self->shard[first_of(self, i)] == index)
            plan->items[items++] = plan->items[i];
        else
            free(plan->items[i].variants);
    plan->item_count = items, plan->claim_count = claims;
}

static Status share_out(Plan *plan, int count, Sharding *self) {
    if (count > 1) plan_measure(plan);
    const size_t items = (size_t)plan->item_count;
    *self = (Sharding){.first = json_object(),
                       .together = calloc(items + 1, sizeof *self->together),
                       .groups = calloc(items + 1, sizeof *self->groups),
                       .shard = calloc(items + 1, sizeof *self->shard),
                       .items = plan->item_count};
    double *load = calloc(items + 1, sizeof *load);
    const bool memory = self->first && self->together && self->groups && self->shard && load;
    if (memory) {
        join_items(plan, self);
        make_groups(plan, self);
        deal(self, load, count < self->group_count ? count : self->group_count); /* others stay empty */
    }
    free(load);
    return memory ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for %d shards of %zu cases", count, items);
}

static void sharding_free(Sharding *self) {
    json_decref(self->first), free(self->together), free(self->groups), free(self->shard);
}

Status plan_shard(Plan *plan, int index, int count) {
    if (count < 1 || index < 1 || index > count) return status_fail(STATUS_INVALID, "I/N with I from 1 to N is expected");
    Sharding self;
    Status status = share_out(plan, count, &self);
    if (status == STATUS_OK && count > self.group_count && count > 1)
        status = status_fail(STATUS_INVALID,
                             "the plan has %d groups of rows that stay together (of a case; of a claim): at most %d shards",
                             self.group_count, self.group_count);
    if (status == STATUS_OK) keep(plan, &self, index);
    sharding_free(&self);
    return status;
}

Status plan_deal(Plan *plan, int count, int *first, int *shard) {
    Sharding self;
    const Status status = share_out(plan, count, &self);
    for (int i = 0; i < plan->item_count && status == STATUS_OK; i++) {
        first[i] = first_of(&self, i);
        shard[i] = self.shard[first[i]] - 1;
    }
    sharding_free(&self);
    return status;
}
