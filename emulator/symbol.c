/* Reads the ELF files of this program and of the module that it loaded: sections and data symbols. Code lines come from addr2line,
 * which binutils bring along. */
#include "emulator/fault.h"

#include "base/process.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status) __attribute__((weak));

/* An ELF file that is loaded: the program, or the module with the kernels. */
typedef struct Image {
    uintptr_t bias;
    char path[4096];
    const unsigned char *bytes; /* the file; NULL: it cannot be read */
} Image;
enum { IMAGES_MAX = 8 };

static Image image_at(const struct link_map *map) {
    Image image = {.bias = map->l_addr};
    snprintf(image.path, sizeof image.path, "%s", map->l_name);
    if (!image.path[0] && readlink("/proc/self/exe", image.path, sizeof image.path - 1) < 0) image.path[0] = '\0';
    return image;
}

static const unsigned char *file_bytes(const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0) return NULL;
    void *mapped = fstat(fd, &info) == 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* That with this address; NULL: none. */
static const Image *image_of(const void *address) {
    static Image known[IMAGES_MAX];
    static int count;
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)address, &found) != 0) return NULL;
    for (int i = 0; i < count; i++)
        if (known[i].bias == found.dlfo_link_map->l_addr) return known[i].bytes ? &known[i] : NULL;
    if (count == IMAGES_MAX) return NULL;
    known[count] = image_at(found.dlfo_link_map);
    known[count].bytes = file_bytes(known[count].path);
    count++;
    return known[count - 1].bytes ? &known[count - 1] : NULL;
}

static const Elf64_Shdr *section_named(const Image *image, const char *name) {
    if (!image) return NULL;
    const Elf64_Ehdr *header = (const void *)image->bytes;
    const Elf64_Shdr *sections = (const void *)(image->bytes + header->e_shoff);
    const char *names = (const char *)image->bytes + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0) return &sections[i];
    return NULL;
}

bool symbol_image(const void *inside, const unsigned char **begin, size_t *bytes) {
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)inside, &found) != 0) return false;
    *begin = found.dlfo_map_start;
    *bytes = (size_t)((const char *)found.dlfo_map_end - (const char *)found.dlfo_map_start);
    return true;
}

bool symbol_section(const void *beside, const char *name, unsigned char **begin, size_t *bytes) {
    const Image *image = image_of(beside);
    const Elf64_Shdr *section = section_named(image, name);
    if (!section) return false;
    *begin = (unsigned char *)(image->bias + section->sh_addr);
    *bytes = section->sh_size;
    return true;
}

static void demangle(const char *name, char *text, size_t size) {
    int status = -1;
    char *plain = __cxa_demangle ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    snprintf(text, size, "%s", status == 0 && plain ? plain : name);
    free(plain);
}

bool symbol_variable(const void *address, char *text, size_t size, size_t *offset, size_t *bytes) {
    const Image *image = image_of(address);
    const Elf64_Shdr *table = section_named(image, ".symtab"), *strings = section_named(image, ".strtab");
    if (!table || !strings) return false;
    const Elf64_Sym *symbols = (const void *)(image->bytes + table->sh_offset);
    const uintptr_t target = (uintptr_t)address - image->bias;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_OBJECT || target - symbols[i].st_value >= symbols[i].st_size) continue;
        demangle((const char *)image->bytes + strings->sh_offset + symbols[i].st_name, text, size);
        *offset = target - symbols[i].st_value;
        *bytes = symbols[i].st_size;
        return true;
    }
    return false;
}

/* Where the compiler left no line for an instruction, as where it merged the stores of two branches, that of one before it will do,
 * and not that of the call that was inlined. */
enum { STEPS_BACK = 64, STEPS_EXACT = 8, STEP_BYTES = 4 };

static bool has_line(const char *line) {
    const char *colon = strrchr(line, ':');
    return line[0] != '?' && colon && colon[1] != '?' && strcmp(colon, ":0") != 0;
}

static bool is_emulators(const char *line) {
    return strstr(line, "/emulator/cuda") || strstr(line, "/emulator/include/");
}

static const char SOURCES[] = "/rungs/"; /* the project's folder, as cmake/emulator.cmake calls it in debug information */

enum { WORD_MAX = 24, LINE_MAX_BYTES = 1024 };

/* For the address and some before it addr2line's line with the address, then pairs: a function, its place. */
static Status ask_addr2line(uintptr_t pc, int count, Text *answer) {
    char words[STEPS_BACK][WORD_MAX];
    const char *argv[8 + STEPS_BACK] = {"addr2line", "-a", "-f", "-C", "-i", "-e"};
    const Image *image = image_of((const void *)pc);
    if (!image) return STATUS_IO;
    argv[6] = image->path;
    for (int i = 0; i < count; i++) {
        snprintf(words[i], sizeof words[i], "0x%zx", pc - image->bias - (uintptr_t)i * STEP_BYTES);
        argv[7 + i] = words[i];
    }
    int code = 0;
    return process_capture(argv, &(ProcessLimits){.quiet_errors = true}, answer, &code);
}

/* Copies the first "file:line" outside the emulator, or the first function name; "?" if there is none. */
static void find_symbol(uintptr_t pc, bool function, char *text, size_t size) {
    Text answer = {0};
    char line[LINE_MAX_BYTES];
    snprintf(text, size, "?");
    const Status status = ask_addr2line(pc, function ? 1 : STEPS_BACK, &answer);
    const char *at = status == STATUS_OK && answer.text ? answer.text : "";
    bool lost = false;
    for (int i = 0, step = -1; *at; i++) {
        const size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        if (strncmp(line, "0x", 2) == 0) {
            step++;
            i = -1;
            lost = false;
            continue;
        }
        char *note = strstr(line, " (discriminator");
        if (note) *note = '\0';
        const bool is_function = i % 2 == 0;
        if (is_function != function || lost || (!function && is_emulators(line))) continue;
        lost = !function && !has_line(line);
        if (lost || line[0] == '?') continue;
        const size_t source = strlen(SOURCES);
        snprintf(text, size, "%s%s", strncmp(line, SOURCES, source) == 0 ? line + source : line,
                 step < STEPS_EXACT ? "" : " or near");
        break;
    }
    text_free(&answer);
}

const char *symbol_line(const void *pc, char *text, size_t size) {
    find_symbol((uintptr_t)pc - 1, false, text, size);
    return text;
}

const char *symbol_function(const void *pc, char *text, size_t size) {
    find_symbol((uintptr_t)pc, true, text, size);
    return text;
}
