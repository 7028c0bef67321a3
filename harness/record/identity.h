/* identity.h - numbers that name one device, as rows may hold them: keyed hashes. The key is this installation's, so that its rows
 * know the device again and nobody else can tell which it is. It lies in $XDG_STATE_HOME/rungs/salt, else in
 * ~/.local/state/rungs/salt. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { IDENTITY_KEY_BYTES = 16 };

/* SipHash-2-4 (Aumasson and Bernstein, 2012). */
uint64_t identity_hash(const unsigned char key[IDENTITY_KEY_BYTES], const void *data, size_t bytes);
/* "salted-0123456789abcdef"; null if the key can be neither read nor made. New reference. */
json_t *identity_hidden(const char *id);
/* A text for a row: absolute paths in it become relative to the source folder or lose their folders, for home folders name people,
 * and UUIDs of GPUs ("GPU-...", "MIG-...") are hidden. New reference; NULL if there is no memory. */
json_t *facts_without_folders(const char *text);
