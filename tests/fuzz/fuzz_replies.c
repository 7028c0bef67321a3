/* Whatever a worker sends to the parent, child_ask gives an object with "ok", or a failure with words. There is no process behind
 * the pipes: a million of them would take an hour. The calls that need one are played here. */
#include "fuzz.h"

#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAYED = 1 << 30 };      /* above every process id */
static int held[4], held_count; /* both ends of the pipes, of which the parent closes the worker's */

static pid_t play_fork(void) {
    return PLAYED;
}
static int play_kill(pid_t pid, int number) {
    (void)number;
    REQUIRE(pid == PLAYED || pid == -PLAYED);
    return 0;
}
static int play_setpgid(pid_t pid, pid_t group) {
    return pid == group ? 0 : -1;
}
static pid_t play_waitpid(pid_t pid, int *how, int options) {
    (void)options;
    if (how) *how = SIGSEGV; /* as if it had crashed */
    return pid == PLAYED ? PLAYED : -1;
}
static int play_waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    (void)type, (void)id, (void)options;
    info->si_pid = PLAYED;
    return 0;
}
static int play_pipe2(int ends[2], int flags) {
    if (pipe2(ends, flags) != 0) return -1;
    held[held_count++] = dup(ends[0]);
    held[held_count++] = dup(ends[1]);
    return 0;
}
#define fork play_fork
#define kill play_kill
#define setpgid play_setpgid
#define waitpid play_waitpid
#define waitid play_waitid
#define pipe2 play_pipe2
/* clang-format off: the order of the two */
#include "device/child.c" /* NOLINT: with the calls above in place of the system's */
#include "device/spawn.c" /* NOLINT */
/* clang-format on */

/* Nor has it descendants. */
void descendants_expect(void) {}
const char *descendants_mark(void) {
    return "RUNGS_WORKER_OF=1";
}
void descendants_know(pid_t pid) {
    REQUIRE(pid == PLAYED);
}
size_t descendants_bytes(pid_t pid, size_t limit) {
    REQUIRE(pid == PLAYED);
    return limit;
}
Helpers descendants_helpers(pid_t pid, int own) {
    return (Helpers){.count = pid != PLAYED || own < 1};
}
double descendants_seconds(pid_t pid) {
    (void)pid;
    return 0;
}
bool sandbox_used(void) {
    return false;
}
Status sandbox_wrap(const char *folder, const char *const *argv, const char *words[SANDBOX_WORDS_MAX]) {
    REQUIRE(!folder && !argv && !words);
    return STATUS_OK;
}
int descendants_end(int patience_ms) {
    return patience_ms < 0;
}
#undef fork
#undef kill
#undef setpgid
#undef waitpid
#undef waitid
#undef pipe2

void fuzz_replies(const uint8_t *bytes, size_t size) {
    static const double SECONDS = 10;
    static const char *const argv[] = {"worker", NULL};
    Child *child;
    json_t *command = json_pack("{s:s}", "do", "run"), *reply = NULL;
    held_count = 0;
    REQUIRE(child_start(&(ChildOptions){.argv = argv, .memory_limit = 1}, &child) == STATUS_OK && held_count == 4);
    child_hand(child, (const int[]){held[0]}, 1);
    child_allow(child, 1);
    const int said = held[3]; /* of the second pipe, its end to write to */
    REQUIRE(size <= 65536 && write(said, bytes, size) == (ssize_t)size);
    close(said);
    Status status = STATUS_OK;
    for (int asked = 0; asked < 3 && status == STATUS_OK; asked++) {
        REQUIRE(child_helpers(child).count == 0 && child_seconds(child) >= 0);
        REQUIRE(child_pause(child)); /* which the next question undoes */
        double seconds = 0;
        status = asked == 1 ? child_time(child, json_incref(command), true, SECONDS, &seconds, &reply)
                            : child_ask(child, json_incref(command), SECONDS, &reply);
        REQUIRE(status != STATUS_OK || seconds >= 0);
        if (status == STATUS_OK)
            REQUIRE(json_is_object(reply) && json_is_true(json_object_get(reply, "ok")));
        else
            REQUIRE(!reply && *status_message());
        json_decref(reply);
        reply = NULL;
    }
    if (status == STATUS_OK) REQUIRE(child_end(child, SECONDS) != STATUS_OK && *status_message()); /* it crashes, see above */
    child_stop(child);
    close(held[0]), close(held[1]), close(held[2]);
    json_decref(command);
}
