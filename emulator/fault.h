/* fault.h - the end of a worker that ran into a bug: one paragraph on stderr and exit code 86; what it calls addresses and places.
 */
#pragma once

#include "emulator/fiber.h"

enum { FAULT_EXIT_CODE = 86 };

/* kind: the words that name the class of bug ("deadlock", "data race"). site.file NULL: `pc`, a code address, says where; NULL too:
 * nowhere in particular. Adds kernel, block, thread and how to replay. */
void fault_at(const char *kind, EmulatorSite site, const void *pc, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
/* The same paragraph; the run goes on, up to FAULTS_MAX of them, and a program as it is goes on to its end. where: a place's text,
 * or NULL. */
enum { FAULTS_MAX = 10 };
void fault_more(const char *kind, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));
int fault_count(void);
/* Ends the process if there was one; says in how many schedules, if in several. */
void fault_end(int schedules);
/* The same paragraph, for a sanitizer that prints its own report next and then ends the process itself. */
void fault_announce(const char *kind, const void *pc, const char *format, ...) __attribute__((format(printf, 3, 4)));

void fault_deadlock(const Block *block) __attribute__((noreturn));
void fault_hung(const void *pc) __attribute__((noreturn));
void fault_internal(const char *what) __attribute__((noreturn));

/* "thread (1,0,0)" / "block (0,0,3)"; static buffers are avoided: text is returned. */
enum { PLACE_MAX = 96 };
const char *fault_thread_text(const unsigned index[3], char text[PLACE_MAX]);
const char *fault_site_text(EmulatorSite site, char *text, size_t size);

/* What an address means to the author of a kernel: "byte 8 past the end of the block's dynamic shared memory (4096 bytes)". */
enum { ADDRESS_TEXT_MAX = 640 };
const char *address_describe(const void *address, char text[ADDRESS_TEXT_MAX]);
/* Where an address lies by some bytes that have a name. */
void describe_within(const unsigned char *at, const unsigned char *begin, size_t bytes, const char *what, char *text, size_t size);

/* A place in the source as 32 bits, so that every remembered access can have one. */
enum { PLACE_MIDDLE = 1 << 30 };
static const uint32_t PLACE_IS_SITE = UINT32_C(1) << 31;
extern uintptr_t place_origin; /* the first kernel */
static inline uint32_t place_of_code(const void *pc) {
    return (uint32_t)((uintptr_t)pc - place_origin + PLACE_MIDDLE) & ~PLACE_IS_SITE;
}
uint32_t place_of_site(EmulatorSite site);
const char *place_text(uint32_t place, char *text, size_t size);

/* Memory faults turned into messages, and the watchdog over launches that make no progress.
 *
 * The first: once per process; later calls do nothing. After the sanitizers' runtimes have started, whose handlers it outranks. */
void signals_install(void);
void watchdog_start(void);
void watchdog_stop(void);

/* symbol.c: names for addresses of this program and the module that it loaded, for reports. Slow: only called when something went
 * wrong. */
/* "kernel.cu:12" for the instruction before a code address, as return addresses are; the emulator's own frames are skipped. "?" if
 * unknown. */
const char *symbol_line(const void *pc, char *text, size_t size);
/* The function at or around a code address, demangled. */
const char *symbol_function(const void *pc, char *text, size_t size);
/* The variable that holds a data address, demangled, and its bytes; false if there is none. */
bool symbol_variable(const void *address, char *text, size_t size, size_t *offset, size_t *bytes);
/* The bytes from the first to the last of the loaded file that this is an address of; false if it is of none. */
bool symbol_image(const void *inside, const unsigned char **begin, size_t *bytes);
/* Where a section lies in memory, of the file that `beside` is an address of; false if it has none of that name. */
bool symbol_section(const void *beside, const char *name, unsigned char **begin, size_t *bytes);
