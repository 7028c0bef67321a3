#include "pipeline/reference_cache.h"

#include "base/hash.h"
#include "build_paths.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double WORTH_SECONDS = 0.5;
static const uint64_t FULL_BYTES = UINT64_C(8) << 30;
static const uint64_t MAGIC = UINT64_C(0x3174757274676e72);

static uint64_t key_of(const char *case_text, int bound) {
    uint64_t hash = hash_bytes(HASH_START, case_text, strlen(case_text));
    struct stat self;
    if (stat("/proc/self/exe", &self) == 0) {
        hash = hash_bytes(hash, &self.st_size, sizeof self.st_size);
        hash = hash_bytes(hash, &self.st_mtim, sizeof self.st_mtim);
    }
    return hash_bytes(hash, &bound, sizeof bound);
}

static const char *folder_of_cache(void) {
    const char *named = getenv("RUNGS_CACHE");
    return named && *named ? named : RUNGS_BINARY_DIR "/cache";
}

static void path_of(uint64_t key, char *path, size_t size) {
    snprintf(path, size, "%s/%016" PRIx64, folder_of_cache(), key);
}

static uint64_t payload_bytes(const Op *op, const Array *out) {
    uint64_t bytes = 0;
    for (int i = 0; i < op->out_count; i++) bytes += 2 * sizeof(double) * (uint64_t)array_count(&out[i]);
    return bytes;
}

bool referencecache_load(const char *case_text, const Op *op, int bound, const Array *out, Reference *reference) {
    char path[512];
    const uint64_t key = key_of(case_text, bound);
    path_of(key, path, sizeof path);
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    uint64_t head[3] = {0};
    bool good = fread(head, sizeof head, 1, file) == 1 && head[0] == MAGIC && head[1] == key && head[2] == payload_bytes(op, out);
    for (int i = 0; good && i < op->out_count; i++) {
        const size_t n = array_count(&out[i]);
        good =
            fread(reference[i].value, sizeof(double), n, file) == n && fread(reference[i].tolerance, sizeof(double), n, file) == n;
    }
    fclose(file);
    return good;
}

/* What the cache holds. Entries older than this program can never be asked for again and are removed. */
static uint64_t bytes_in(const char *folder) {
    uint64_t total = 0;
    struct stat self;
    const time_t built = stat("/proc/self/exe", &self) == 0 ? self.st_mtim.tv_sec : 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[800];
        struct stat facts;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        if (facts.st_mtim.tv_sec >= built || unlink(path) != 0) total += (uint64_t)facts.st_size;
    }
    if (directory) closedir(directory);
    return total;
}

void referencecache_save(const char *case_text, const Op *op, int bound, const Array *out, const Reference *reference,
                         double seconds) {
    const char *folder = folder_of_cache();
    const uint64_t bytes = payload_bytes(op, out);
    if (seconds < WORTH_SECONDS || bytes > FULL_BYTES / 4) return;
    mkdir(folder, 0777);
    if (bytes_in(folder) + bytes > FULL_BYTES) return;
    char path[512], partial[540];
    const uint64_t key = key_of(case_text, bound);
    path_of(key, path, sizeof path);
    snprintf(partial, sizeof partial, "%s.%d", path, (int)getpid());
    FILE *file = fopen(partial, "wb");
    if (!file) return;
    const uint64_t head[3] = {MAGIC, key, bytes};
    bool good = fwrite(head, sizeof head, 1, file) == 1;
    for (int i = 0; good && i < op->out_count; i++) {
        const size_t n = array_count(&out[i]);
        good = fwrite(reference[i].value, sizeof(double), n, file) == n &&
               fwrite(reference[i].tolerance, sizeof(double), n, file) == n;
    }
    good = fclose(file) == 0 && good;
    if (!good || rename(partial, path) != 0) unlink(partial);
}
