#include "base/params.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Status set_value(ParamValue *value, const char *text);

Status params_init(const ParamSpec *specs, Params *out) {
    *out = (Params){0};
    for (const ParamSpec *spec = specs; spec && spec->name; spec++) {
        if (out->count == PARAMS_MAX) return status_fail(STATUS_INTERNAL, "more than %d parameters", PARAMS_MAX);
        ParamValue *value = &out->values[out->count++];
        value->spec = spec;
        if (spec->fallback) TRY(set_value(value, spec->fallback));
    }
    return STATUS_OK;
}

static ParamValue *find(const Params *params, const char *name) {
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->values[i].spec->name, name) == 0) return (ParamValue *)&params->values[i];
    return NULL;
}

static Status unknown_name(const Params *params, const char *name) {
    const char *names[PARAMS_MAX];
    for (int i = 0; i < params->count; i++) names[i] = params->values[i].spec->name;
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

static Status set_number(ParamValue *value, const char *text) {
    const ParamSpec *spec = value->spec;
    const bool integer = spec->kind == PARAM_INT;
    double number = 0;
    const bool parsed = integer ? text_integer(text, &value->integer) : text_real(text, &number);
    if (integer) number = (double)value->integer;
    if (!parsed || isnan(number))
        return status_fail(STATUS_INVALID, "%s='%s' is not %s; allowed: %s from %.17g to %.17g", spec->name, text,
                           integer ? "an integer" : "a number", integer ? "integers (also 1e8, 2^22)" : "numbers", spec->min,
                           spec->max);
    if (!(number >= spec->min && number <= spec->max))
        return status_fail(STATUS_INVALID, "%s=%s is out of range; allowed: %.17g to %.17g", spec->name, text, spec->min,
                           spec->max);
    value->real = number;
    if (integer)
        snprintf(value->text, sizeof value->text, "%lld", value->integer);
    else
        print_shortest(number, value->text, sizeof value->text);
    return STATUS_OK;
}

static Status set_choice(ParamValue *value, const char *text) {
    const char *const *choices = value->spec->choices;
    int count = 0;
    for (; choices[count]; count++) {
        if (strcmp(choices[count], text) != 0) continue;
        value->choice = count;
        snprintf(value->text, sizeof value->text, "%s", text);
        return STATUS_OK;
    }
    return text_fail_listing(text_nearest(text, choices, count), "allowed", choices, count, "%s='%s' is not allowed",
                             value->spec->name, text);
}

static Status set_value(ParamValue *value, const char *text) {
    if (value->spec->kind == PARAM_CHOICE) return set_choice(value, text);
    if (value->spec->kind != PARAM_TEXT) return set_number(value, text);
    if (strlen(text) >= sizeof value->text || strpbrk(text, " \t\n"))
        return status_fail(STATUS_INVALID, "%s='%.80s': a text of up to %zu characters without blanks is expected",
                           value->spec->name, text, sizeof value->text - 1);
    snprintf(value->text, sizeof value->text, "%s", text);
    return STATUS_OK;
}

Status params_set(Params *params, const char *name, const char *text) {
    ParamValue *value = find(params, name);
    if (!value) return unknown_name(params, name);
    TRY(set_value(value, text));
    value->given = true;
    return STATUS_OK;
}

Status params_complete(const Params *params) {
    for (int i = 0; i < params->count; i++) {
        const ParamValue *value = &params->values[i];
        if (!value->given && !value->spec->fallback)
            return status_fail(STATUS_INVALID, "parameter '%s' is missing: %s", value->spec->name, value->spec->summary);
    }
    return STATUS_OK;
}

static const ParamValue *demand(const Params *params, const char *name) {
    const ParamValue *value = find(params, name);
    if (value) return value;
    fprintf(stderr, "rungs: internal error: parameter '%s' was asked for but never declared\n", name);
    abort();
}

long long params_int(const Params *params, const char *name) {
    return demand(params, name)->integer;
}

double params_real(const Params *params, const char *name) {
    return demand(params, name)->real;
}

int params_choice(const Params *params, const char *name) {
    return demand(params, name)->choice;
}

const char *params_text(const Params *params, const char *name) {
    return demand(params, name)->text;
}

bool params_has(const Params *params, const char *name) {
    return find(params, name) != NULL;
}

size_t params_format(const Params *params, bool only_given, char *text, size_t size) {
    size_t used = 0;
    if (size) text[0] = '\0';
    for (int i = 0; i < params->count; i++) {
        const ParamValue *value = &params->values[i];
        if (only_given && !value->given) continue;
        const size_t room = used < size ? size - used : 0;
        used += (size_t)snprintf(room ? text + used : NULL, room, " %s=%s", value->spec->name, value->text);
    }
    return used;
}
