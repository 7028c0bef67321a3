#include "pipeline/session.h"

#include "base/hash.h"
#include "base/output.h"
#include "base/places.h"
#include "device/confine.h"

#include <dirent.h>
#include <inttypes.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double WORTH_SECONDS = 0.5;
static const uint64_t FULL_BYTES = UINT64_C(64) << 20, NAMED_FULL_BYTES = UINT64_C(8) << 30;
static const uint64_t MAGIC = UINT64_C(0x3274757274676e72);

typedef struct Head {
    uint64_t magic, key, inputs, bytes;
    uint64_t checksum; /* of the head before it, and of the payload */
} Head;

/* The linker's hash of everything that was linked, this program's references included; 0 if it made none. */
static int find_build_id(struct dl_phdr_info *program, size_t size, void *out) {
    (void)size;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        if (program->dlpi_phdr[i].p_type != PT_NOTE) continue;
        const char *at = (const char *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr),
                   *end = at + program->dlpi_phdr[i].p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const char *name = at + sizeof note, *id = name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
                *(uint64_t *)out = hash_bytes(HASH_START, id, note.n_descsz);
            at = id + (note.n_descsz + 3) / 4 * 4;
        }
    }
    return 1; /* the program itself comes first */
}

/* 0: nothing can be kept. */
static uint64_t key_of(const char *case_text, int bound) {
    uint64_t code = 0;
    dl_iterate_phdr(find_build_id, &code);
    if (code == 0) return 0;
    const uint64_t hash = hash_bytes(code, case_text, strlen(case_text));
    return hash_bytes(hash, &bound, sizeof bound);
}

static uint64_t hash_inputs(const Op *op, const Array *in) {
    uint64_t hash = HASH_START;
    for (int i = 0; i < op->in_count; i++) hash = hash_array(hash, in[i].data, array_bytes(&in[i]));
    return hash;
}

static uint64_t checksum_of(const Head *head, const Op *op, const Array *out, const Reference *reference) {
    uint64_t hash = hash_bytes(HASH_START, head, offsetof(Head, checksum));
    for (int i = 0; i < op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&out[i]);
        hash = hash_array(hash_array(hash, reference[i].value, bytes), reference[i].tolerance, bytes);
    }
    return hash;
}

static const char *named_folder(void) {
    const char *named = getenv("RUNGS_CACHE");
    return named && *named ? named : NULL;
}

/* NULL: no cache. Where workers are not confined, one of them could write what another row is compared with. */
static const char *folder_of_cache(void) {
    if (!confine_available()) return NULL;
    return named_folder() ? named_folder() : places_build("cache");
}

/* The build folder stays small; a folder that the user names may hold more. */
static uint64_t full_bytes(void) {
    return named_folder() ? NAMED_FULL_BYTES : FULL_BYTES;
}

static void path_of(uint64_t key, char *path, size_t size) {
    snprintf(path, size, "%s/%016" PRIx64, folder_of_cache(), key);
}

static uint64_t payload_bytes(const Op *op, const Array *out) {
    uint64_t bytes = 0;
    for (int i = 0; i < op->out_count; i++) bytes += 2 * sizeof(double) * (uint64_t)array_count(&out[i]);
    return bytes;
}

static bool read_entry(FILE *file, Head *head, const Op *op, const Array *out, Reference *reference) {
    if (fread(head, sizeof *head, 1, file) != 1 || head->bytes != payload_bytes(op, out)) return false;
    for (int i = 0; i < op->out_count; i++) {
        const size_t n = array_count(&out[i]);
        if (fread(reference[i].value, sizeof(double), n, file) != n || fread(reference[i].tolerance, sizeof(double), n, file) != n)
            return false;
    }
    return true;
}

bool referencecache_load(const char *case_text, const Op *op, int bound, const Array *in, const Array *out, Reference *reference) {
    char path[512];
    const uint64_t key = key_of(case_text, bound);
    if (key == 0 || !folder_of_cache()) return false;
    path_of(key, path, sizeof path);
    FILE *file = fopen(path, "rbe");
    if (!file) return false;
    Head head;
    const bool good = read_entry(file, &head, op, out, reference) && head.magic == MAGIC && head.key == key &&
                      head.checksum == checksum_of(&head, op, out, reference) && head.inputs == hash_inputs(op, in);
    fclose(file);
    if (!good) unlink(path); /* it is computed, and written, again */
    return good;
}

/* What the cache holds. Entries older than this program are most likely of builds that are gone, and are removed. */
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

void referencecache_save(const char *case_text, const Op *op, int bound, const Array *in, const Array *out,
                         const Reference *reference, double seconds) {
    const char *folder = folder_of_cache();
    Head head = {.magic = MAGIC, .key = key_of(case_text, bound), .bytes = payload_bytes(op, out)};
    if (!folder || seconds < WORTH_SECONDS || head.key == 0 || head.bytes > full_bytes() / 4) return;
    mkdir(folder, 0777);
    if (bytes_in(folder) + head.bytes > full_bytes()) return;
    head.inputs = hash_inputs(op, in);
    head.checksum = checksum_of(&head, op, out, reference);
    char path[512];
    Output file;
    path_of(head.key, path, sizeof path);
    if (output_open(path, &file) != STATUS_OK) return;
    Status status = output_write(&file, &head, sizeof head);
    for (int i = 0; status == STATUS_OK && i < op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&out[i]);
        status = output_write(&file, reference[i].value, bytes);
        if (status == STATUS_OK) status = output_write(&file, reference[i].tolerance, bytes);
    }
    (void)output_close(&file, status); /* without it the next run computes again */
}
