/* hidden_time.h - for mutants that take time out of their process's clock. What a module defines is seen by nobody else, so they
 * write their clock into the table by which the program calls the library's. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "variant.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long NANOSECONDS = 1000000000;
static long hidden; /* nanoseconds */

static long real_nanoseconds(clockid_t clock) {
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return now.tv_sec * NANOSECONDS + now.tv_nsec;
}

static int slow_clock(clockid_t clock, struct timespec *now) {
    const long shown = real_nanoseconds(clock) - (clock == CLOCK_MONOTONIC ? hidden : 0);
    now->tv_sec = shown / NANOSECONDS;
    now->tv_nsec = shown % NANOSECONDS;
    return 0;
}

/* Where a library's table lies: an address, or how far it is from the program's beginning. */
static uintptr_t address_of(const struct dl_phdr_info *info, ElfW(Addr) value) {
    return value < info->dlpi_addr ? info->dlpi_addr + value : value;
}

static int replace_clock(struct dl_phdr_info *info, size_t size, void *unused) {
    const ElfW(Dyn) *dynamic = NULL;
    uintptr_t tables[2] = {0}, bytes[2] = {0}, symbols = 0, names = 0;
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_JMPREL) tables[0] = address_of(info, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_PLTRELSZ) bytes[0] = dynamic->d_un.d_val;
        if (dynamic->d_tag == DT_RELA) tables[1] = address_of(info, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_RELASZ) bytes[1] = dynamic->d_un.d_val;
        if (dynamic->d_tag == DT_SYMTAB) symbols = address_of(info, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRTAB) names = address_of(info, dynamic->d_un.d_ptr);
    }
    for (int t = 0; t < 2; t++)
        for (uintptr_t at = tables[t]; at < tables[t] + bytes[t]; at += sizeof(ElfW(Rela))) {
            const ElfW(Rela) *entry = (const void *)at;
            const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols + ELF64_R_SYM(entry->r_info);
            if (strcmp((const char *)names + symbol->st_name, "clock_gettime") != 0) continue;
            const uintptr_t slot = info->dlpi_addr + entry->r_offset, page = slot & ~(uintptr_t)4095;
            mprotect((void *)page, 8192, PROT_READ | PROT_WRITE);
            *(int (**)(clockid_t, struct timespec *))slot = slow_clock;
        }
    return 1; /* the program comes first */
}
