/* fuzz.h - what the fuzz targets share. One program holds them all; FUZZ_TOPIC in the environment chooses one. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What must hold for every input; libFuzzer keeps the input for which it does not. */
#define REQUIRE(condition)                                                                                                         \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s (last message: %s)\n", __FILE__, __LINE__, #condition, status_message());    \
            abort();                                                                                                               \
        }                                                                                                                          \
    } while (0)

enum { FUZZ_PATH_MAX = 40 };

/* An unnamed file with these bytes; returns its descriptor. `path` opens it again. Close it with close(). */
int fuzz_file(const uint8_t *bytes, size_t size, char path[FUZZ_PATH_MAX]);
/* The bytes as text; free() it. */
char *fuzz_text(const uint8_t *bytes, size_t size);
/* STATUS_INVALID, and a message that begins with these words? */
int fuzz_refused(Status status, const char *begin);

/* The targets: each takes one input, of any bytes. */
void fuzz_npy(const uint8_t *bytes, size_t size);
void fuzz_case(const uint8_t *bytes, size_t size);
void fuzz_pattern(const uint8_t *bytes, size_t size);
void fuzz_scenario(const uint8_t *bytes, size_t size);
void fuzz_rows(const uint8_t *bytes, size_t size);
void fuzz_resume(const uint8_t *bytes, size_t size);
void fuzz_claims(const uint8_t *bytes, size_t size);
void fuzz_replies(const uint8_t *bytes, size_t size);
void fuzz_commands(const uint8_t *bytes, size_t size);
void fuzz_options(const uint8_t *bytes, size_t size);
