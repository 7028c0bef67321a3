#include "variant.h"

#include <stdarg.h>
#include <stdio.h>

const char *const MEMORY_RESOURCES[] = {"cuda", "pool", "arena", NULL};

bool variant_refuse(char reason[REASON_MAX], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, REASON_MAX, format, arguments);
    va_end(arguments);
    return false;
}
