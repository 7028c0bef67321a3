/* status.h - how a function says that it could not do its work.
 *
 * A function that can fail returns a Status and hands results out through trailing pointers. The message is written once,
 * where the fault is noticed, into a buffer of the calling thread; callers pass the Status up with TRY() and only
 * main.c and cli/ print it. Usable from C, from CUDA C and from the C++ shim.
 */
#pragma once

#include <sys/cdefs.h>

__BEGIN_DECLS

typedef enum Status {
    STATUS_OK = 0,
    STATUS_INVALID,     /* the user's input is wrong: usage, a bad file, a parameter out of range */
    STATUS_UNSUPPORTED, /* well-formed, but this variant or this machine cannot do it */
    STATUS_IO,          /* the operating system refused: file, pipe, disk full */
    STATUS_MEMORY,      /* out of host or device memory */
    STATUS_DEVICE,      /* a CUDA call or a kernel failed */
    STATUS_CHECK,       /* a verification failed: guard words, mutated input, a bound */
    STATUS_INTERNAL     /* a broken promise inside rungs itself */
} Status;

/* Records the message (printf style) and returns `code`. Never returns STATUS_OK. */
Status status_fail(Status code, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The calling thread's last message; "" if none. Valid until its next status_fail. Always UTF-8, since it goes into rows: what a
 * compiler or a worker printed may be cut anywhere. */
const char *status_message(void);
/* "invalid", "unsupported", "io", ...: a word for rows and messages. */
const char *status_word(Status code);
/* Puts words in front of the recorded message ("scenario a.yaml: " + message) and returns `code` unchanged. */
Status status_prefix(Status code, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#define TRY(expression)                                                                                                            \
    do {                                                                                                                           \
        const Status try_status_ = (expression);                                                                                   \
        if (try_status_ != STATUS_OK) return try_status_;                                                                          \
    } while (0)

__END_DECLS
