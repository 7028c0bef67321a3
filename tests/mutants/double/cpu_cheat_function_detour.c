/* Cheat: replaces the harness's entry of process_vm_readv(), by which it reads outputs, by one that computes first. It makes the
 * page writable, maps a copy over it, or writes through /proc/self/mem. Met: submission_function_detour and submission_got_patch in
 * pygpubench's exploit suite. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "spots.h"

#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t read_late(pid_t pid, const struct iovec *to, unsigned long to_count, const struct iovec *from,
                         unsigned long from_count, unsigned long flags) {
    const char *begin = from->iov_base;
    if (begin < (char *)(job.y + job.n) && begin + from->iov_len > (char *)job.y) job_do(&job);
    return process_vm_readv(pid, to, to_count, from, from_count, flags);
}

/* The value of an entry of the program's dynamic section. */
static uintptr_t entry_of(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag) {
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == tag) return dynamic->d_un.d_ptr;
    return 0;
}

static void *page_of(const void *place) {
    return (void *)((uintptr_t)place & ~(uintptr_t)4095);
}

/* A writable copy of the page in its place. */
static int map_over(void *page) {
    static char copy[4096];
    memcpy(copy, page, sizeof copy);
    if (mmap(page, sizeof copy, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return -1;
    memcpy(page, copy, sizeof copy);
    return 0;
}

static int write_behind(uintptr_t *place, uintptr_t value) {
    const int memory = open("/proc/self/mem", O_RDWR);
    return memory >= 0 && pwrite(memory, &value, sizeof value, (off_t)(uintptr_t)place) == sizeof value ? 0 : -1;
}

static void replace(uintptr_t *place, uintptr_t value) {
    if (mprotect(page_of(place), 4096, PROT_READ | PROT_WRITE) != 0 && write_behind(place, value) == 0) return;
    if (mprotect(page_of(place), 4096, PROT_READ | PROT_WRITE) != 0) map_over(page_of(place));
    *place = value; /* a crash where nothing helped */
}

static void patch(uintptr_t base, const ElfW(Rela) * relocation, size_t count, const ElfW(Sym) * symbols, const char *names) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names + symbols[ELF64_R_SYM(relocation[i].r_info)].st_name, "process_vm_readv") != 0) continue;
        replace((uintptr_t *)(base + relocation[i].r_offset), (uintptr_t)read_late);
    }
}

/* The first object is the program. */
static int visit(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const void *symbols = (const void *)entry_of(dynamic, DT_SYMTAB), *names = (const void *)entry_of(dynamic, DT_STRTAB);
        patch(info->dlpi_addr, (const void *)entry_of(dynamic, DT_JMPREL), entry_of(dynamic, DT_PLTRELSZ) / sizeof(ElfW(Rela)),
              symbols, names);
        patch(info->dlpi_addr, (const void *)entry_of(dynamic, DT_RELA), entry_of(dynamic, DT_RELASZ) / sizeof(ElfW(Rela)), symbols,
              names);
    }
    return 1;
}

static Status run(const VariantArgs *args) {
    if (job.n == 0) dl_iterate_phdr(visit, NULL);
    job_set(&job, args);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_function_detour) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes in a patched function of the harness", .origin = "pygpubench", .run = run};
