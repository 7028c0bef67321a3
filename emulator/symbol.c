/* Reads this program's own ELF file: sections and data symbols. Code lines come from addr2line, which binutils bring along. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "emulator/symbol.h"

#include "base/process.h"

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

static int note_bias(struct dl_phdr_info *info, size_t size, void *bias) {
    (void)size;
    *(uintptr_t *)bias = info->dlpi_addr;
    return 1; /* the program itself comes first */
}

static uintptr_t load_bias(void) {
    uintptr_t bias = 0;
    dl_iterate_phdr(note_bias, &bias);
    return bias;
}

static const unsigned char *own_file(void) {
    static const unsigned char *image;
    if (image) return image;
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) return NULL;
    void *mapped = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return image = mapped == MAP_FAILED ? NULL : mapped;
}

static const Elf64_Shdr *section_named(const char *name) {
    const unsigned char *image = own_file();
    if (!image) return NULL;
    const Elf64_Ehdr *header = (const void *)image;
    const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
    const char *names = (const char *)image + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0) return &sections[i];
    return NULL;
}

bool symbol_section(const char *name, unsigned char **begin, size_t *bytes) {
    const Elf64_Shdr *section = section_named(name);
    if (!section) return false;
    *begin = (unsigned char *)(load_bias() + section->sh_addr);
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
    const Elf64_Shdr *table = section_named(".symtab"), *strings = section_named(".strtab");
    if (!table || !strings) return false;
    const unsigned char *image = own_file();
    const Elf64_Sym *symbols = (const void *)(image + table->sh_offset);
    const uintptr_t target = (uintptr_t)address - load_bias();
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_OBJECT || target - symbols[i].st_value >= symbols[i].st_size) continue;
        demangle((const char *)image + strings->sh_offset + symbols[i].st_name, text, size);
        *offset = target - symbols[i].st_value;
        *bytes = symbols[i].st_size;
        return true;
    }
    return false;
}

/* Where the compiler left no line for an instruction, one shortly before it will do. */
enum { STEPS_BACK = 8, STEP_BYTES = 4 };

static bool has_line(const char *line) {
    const char *colon = strrchr(line, ':');
    return line[0] != '?' && colon && colon[1] != '?' && strcmp(colon, ":0") != 0;
}

static bool is_emulators(const char *line) {
    return strstr(line, "/emulator/") && !strstr(line, "/impls/");
}

static const char SOURCES[] = "/rungs/"; /* the project's folder, as cmake/emulator.cmake calls it in debug information */

enum { WORD_MAX = 24, LINE_MAX_BYTES = 1024 };

/* addr2line's pairs of lines for the address and some before it: a function, its place. */
static Status ask_addr2line(uintptr_t pc, int count, Text *answer) {
    char words[STEPS_BACK][WORD_MAX];
    const char *argv[8 + STEPS_BACK] = {"addr2line", "-f", "-C", "-i", "-e"};
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return STATUS_IO;
    self[length] = '\0';
    argv[5] = self;
    for (int i = 0; i < count; i++) {
        snprintf(words[i], sizeof words[i], "0x%zx", pc - load_bias() - (uintptr_t)i * STEP_BYTES);
        argv[6 + i] = words[i];
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
    for (int i = 0; *at; i++) {
        const size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        char *note = strstr(line, " (discriminator");
        if (note) *note = '\0';
        const bool is_function = i % 2 == 0;
        if (is_function != function || line[0] == '?' || (!function && (!has_line(line) || is_emulators(line)))) continue;
        const size_t source = strlen(SOURCES);
        snprintf(text, size, "%s", strncmp(line, SOURCES, source) == 0 ? line + source : line);
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
