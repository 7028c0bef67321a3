#include "base/params.h"

#include "base/text.h"

#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    return strcmp(a, b);
}

/* One copy of each text that a value has had in this process. */
static Status keep_text(Params *params, int index, const char *text) {
    static void *kept;
    void *found = tfind(text, &kept, compare);
    if (!found) {
        char *copy = strdup(text);
        found = copy ? tsearch(copy, &kept, compare) : NULL;
        if (!found) free(copy);
    }
    if (!found) return status_fail(STATUS_MEMORY, "no memory for the value of %s", params->specs[index].name);
    params->values[index].text = *(char **)found;
    return STATUS_OK;
}

/* -1: there is none. */
static int find(const Params *params, const char *name) {
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->specs[i].name, name) == 0) return i;
    return -1;
}

static Status unknown_name(const Params *params, const char *name) {
    const char *names[PARAMS_MAX];
    for (int i = 0; i < params->count; i++) names[i] = params->specs[i].name;
    return text_fail_listing(text_nearest(name, names, params->count), "known", names, params->count, "unknown parameter '%s'",
                             name);
}

/* With as few digits as give the number back: 0.5, 0.50 and 5e-1 are one value and one text. */
static void print_shortest(double number, char *text, size_t size) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    if (strchr(text, 'e') && fabs(number) >= 1 && fabs(number) < 1e6) snprintf(text, size, "%.0f", number); /* 300, not 3e+02 */
}

static Status set_number(Params *params, int index, const char *text) {
    const ParamSpec *spec = &params->specs[index];
    ParamValue *value = &params->values[index];
    const bool integer = spec->kind == PARAM_INT;
    char canonical[64];
    long long whole = 0;
    double number = 0;
    const bool parsed = integer ? text_integer(text, &whole) : text_real(text, &number);
    if (integer) number = (double)whole;
    if (!parsed || isnan(number))
        return status_fail(STATUS_INVALID, "%s='%s' is not %s; allowed: %s from %.17g to %.17g", spec->name, text,
                           integer ? "an integer" : "a number", integer ? "integers (also 1e8, 2^22)" : "numbers", spec->min,
                           spec->max);
    if (!(number >= spec->min && number <= spec->max))
        return status_fail(STATUS_INVALID, "%s=%s is out of range; allowed: %.17g to %.17g", spec->name, text, spec->min,
                           spec->max);
    if (integer) {
        value->integer = whole;
        snprintf(canonical, sizeof canonical, "%lld", whole);
    } else {
        value->real = number;
        print_shortest(number, canonical, sizeof canonical);
    }
    return keep_text(params, index, canonical);
}

static Status set_choice(Params *params, int index, const char *text) {
    const ParamSpec *spec = &params->specs[index];
    int count = 0;
    for (; spec->choices[count]; count++) {
        if (strcmp(spec->choices[count], text) != 0) continue;
        params->values[index] = (ParamValue){.choice = count, .text = spec->choices[count]};
        return STATUS_OK;
    }
    return text_fail_listing(text_nearest(text, spec->choices, count), "allowed", spec->choices, count, "%s='%s' is not allowed",
                             spec->name, text);
}

static Status set_value(Params *params, int index, const char *text) {
    const ParamSpec *spec = &params->specs[index];
    if (spec->choices) return set_choice(params, index, text);
    if (spec->kind != PARAM_TEXT) return set_number(params, index, text);
    if (strlen(text) >= PARAM_TEXT_MAX || strpbrk(text, " \t\n"))
        return status_fail(STATUS_INVALID, "%s='%.80s': a text of up to %d characters without blanks is expected", spec->name, text,
                           PARAM_TEXT_MAX - 1);
    return keep_text(params, index, text);
}

Status params_init(const ParamSpec *specs, Params *out) {
    *out = (Params){.specs = specs};
    for (const ParamSpec *spec = specs; spec && spec->name; spec++) {
        if (out->count == PARAMS_MAX) return status_fail(STATUS_INTERNAL, "more than %d parameters", PARAMS_MAX);
        const int index = out->count++;
        out->values[index].text = "";
        if (spec->fallback) TRY(set_value(out, index, spec->fallback));
    }
    return STATUS_OK;
}

Status params_set(Params *params, const char *name, const char *text) {
    const int index = find(params, name);
    if (index < 0) return unknown_name(params, name);
    TRY(set_value(params, index, text));
    params->given |= 1u << index;
    return STATUS_OK;
}

Status params_complete(const Params *params) {
    for (int i = 0; i < params->count; i++) {
        const ParamSpec *spec = &params->specs[i];
        if (!params_given(params, i) && !spec->fallback)
            return status_fail(STATUS_INVALID, "parameter '%s' is missing: %s", spec->name, spec->summary);
    }
    return STATUS_OK;
}

static int demand(const Params *params, const char *name) {
    const int index = find(params, name);
    if (index >= 0) return index;
    fprintf(stderr, "rungs: the code asks for parameter '%s'; declared are:", name);
    for (int i = 0; i < params->count; i++) fprintf(stderr, " %s", params->specs[i].name);
    fprintf(stderr, "\n");
    abort();
}

long long params_int(const Params *params, const char *name) {
    return params->values[demand(params, name)].integer;
}

double params_real(const Params *params, const char *name) {
    const int index = demand(params, name);
    const ParamValue *value = &params->values[index];
    return params->specs[index].kind == PARAM_INT ? (double)value->integer : value->real;
}

int params_choice(const Params *params, const char *name) {
    return params->values[demand(params, name)].choice;
}

const char *params_text(const Params *params, const char *name) {
    return params->values[demand(params, name)].text;
}

bool params_has(const Params *params, const char *name) {
    return find(params, name) >= 0;
}

bool params_given(const Params *params, int index) {
    return params->given >> index & 1;
}

static bool is_option(const Params *params, int index, bool at_default) {
    const ParamSpec *spec = &params->specs[index];
    return spec->kind == PARAM_OPTION && (strcmp(params->values[index].text, spec->fallback) == 0) == at_default;
}

bool params_unsaid(const Params *params, int index) {
    return is_option(params, index, true);
}

bool params_chosen(const Params *params, int index) {
    return is_option(params, index, false);
}

size_t params_format(const Params *params, bool only_given, char *text, size_t size) {
    size_t used = 0;
    if (size) text[0] = '\0';
    for (int i = 0; i < params->count; i++) {
        if (params_unsaid(params, i) || (only_given && !params_given(params, i))) continue;
        const size_t room = used < size ? size - used : 0;
        used += (size_t)snprintf(room ? text + used : NULL, room, " %s=%s", params->specs[i].name, params->values[i].text);
    }
    return used;
}
