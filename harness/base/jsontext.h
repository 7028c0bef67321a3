/* jsontext.h - a text of a JSON object. */
#pragma once

#include <jansson.h>

/* The text under the key; "" if there is none. object and key may be NULL. */
static inline const char *text_of(const json_t *object, const char *key) {
    const char *text = key ? json_string_value(json_object_get(object, key)) : NULL;
    return text ? text : "";
}
