#include "base/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char place[64];

static int make_place(void **state) {
    (void)state;
    snprintf(place, sizeof place, "/tmp/rungs-test-XXXXXX");
    if (!mkdtemp(place)) return -1;
    return setenv("TMPDIR", place, 1);
}

static int remove_place(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command);
}

static const char *in_place(const char *name) {
    static char path[TEMPORARY_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", place, name);
    return path;
}

static void put(const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static bool exists(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0;
}

static int entries(void) {
    int count = 0;
    DIR *directory = opendir(place);
    while (directory && readdir(directory)) count++;
    if (directory) closedir(directory);
    return count - 2;
}

static void a_folder_goes_with_all_that_is_in_it(void **state) {
    (void)state;
    TemporaryFolder folder, other;
    char inner[TEMPORARY_PATH_MAX + 64];
    struct stat facts;
    assert_int_equal(temporary_folder(&folder), STATUS_OK);
    assert_int_equal(temporary_folder(&other), STATUS_OK);
    assert_string_not_equal(folder.path, other.path);
    assert_int_equal(stat(folder.path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    snprintf(inner, sizeof inner, "%s/inner", folder.path);
    assert_int_equal(mkdir(inner, 0777), 0);
    strcat(inner, "/file");
    put(inner);
    put(in_place("kept"));
    snprintf(inner, sizeof inner, "%s/link", folder.path);
    assert_int_equal(symlink(in_place("kept"), inner), 0);
    temporary_folder_remove(&folder);
    assert_false(exists(folder.path));
    assert_true(exists(in_place("kept")));
    assert_true(exists(other.path)); /* in use */
    temporary_folder_remove(&other);
    assert_int_equal(entries(), 1);
}

/* A process that was killed: its lock is gone, its folder is not. */
static void make_and_die(char path[TEMPORARY_PATH_MAX]) {
    int ends[2], how;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        TemporaryFolder folder;
        char file[TEMPORARY_PATH_MAX + 16];
        if (temporary_folder(&folder) != STATUS_OK) _exit(1);
        snprintf(file, sizeof file, "%s/x.so", folder.path);
        put(file);
        _exit(write(ends[1], folder.path, sizeof folder.path) != sizeof folder.path);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    assert_int_equal(read(ends[0], path, TEMPORARY_PATH_MAX), TEMPORARY_PATH_MAX);
    close(ends[0]), close(ends[1]);
}

static void what_the_dead_left_goes(void **state) {
    (void)state;
    char path[TEMPORARY_PATH_MAX];
    make_and_die(path);
    assert_true(exists(path));
    TemporaryFolder folder;
    assert_int_equal(temporary_folder(&folder), STATUS_OK); /* the next one that is made */
    assert_false(exists(path));
    temporary_folder_remove(&folder);
    assert_int_equal(entries(), 0);
}

/* One of whose forked processes still holds the lock for a moment. */
static void what_the_dying_left_goes(void **state) {
    (void)state;
    int how;
    const pid_t pid = fork();
    if (pid == 0) {
        TemporaryFolder folder;
        if (temporary_folder(&folder) != STATUS_OK) _exit(1);
        if (fork() == 0) poll(NULL, 0, 1000);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    temporary_sweep();
    assert_int_equal(entries(), 1); /* as another run sees it */
    temporary_sweep_after(pid);
    assert_int_equal(entries(), 0);
}

/* Everything else stays: what is a link, what others may enter, what another user owns, what is locked, what has another name. */
static void nothing_else_goes(void **state) {
    (void)state;
    static const char *const NAMES[] = {"rungs-worker-0000001-link00",
                                        "rungs-worker-0000001-open00",
                                        "rungs-worker-0000001-their0",
                                        "rungs-worker-0000001-locked",
                                        "rungs-worker-0000001-file00",
                                        "rungs-worker-0000001-12345",
                                        "precious"};
    char link_target[TEMPORARY_PATH_MAX + 64], file[TEMPORARY_PATH_MAX + 80];
    assert_int_equal(mkdir(in_place("target"), 0700), 0);
    snprintf(link_target, sizeof link_target, "%s", in_place("target"));
    assert_int_equal(symlink(link_target, in_place(NAMES[0])), 0);
    snprintf(file, sizeof file, "%s/file", link_target);
    put(file);
    assert_int_equal(mkdir(in_place(NAMES[1]), 0700), 0);
    assert_int_equal(chmod(in_place(NAMES[1]), 0755), 0);
    assert_int_equal(mkdir(in_place(NAMES[2]), 0700), 0);
    const bool root = chown(in_place(NAMES[2]), 12345, 12345) == 0;
    assert_int_equal(mkdir(in_place(NAMES[3]), 0700), 0);
    const int lock = open(in_place(NAMES[3]), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    put(in_place(NAMES[4]));
    assert_int_equal(mkdir(in_place(NAMES[5]), 0700), 0);
    assert_int_equal(mkdir(in_place(NAMES[6]), 0700), 0);
    temporary_sweep();
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (i != 2 || root) assert_true(exists(in_place(NAMES[i])));
    assert_true(exists(file));
    close(lock);
    temporary_sweep();
    assert_false(exists(in_place(NAMES[3])));
}

static void files_have_no_name(void **state) {
    (void)state;
    const int file = temporary_file();
    char path[64], text[4] = "";
    assert_true(file >= 0);
    assert_int_equal(entries(), 0);
    assert_int_equal(write(file, "abc", 3), 3);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int again = open(path, O_RDONLY);
    assert_int_equal(read(again, text, 3), 3);
    assert_string_equal(text, "abc");
    close(file), close(again);
    setenv("TMPDIR", "/no/such/folder", 1);
    TemporaryFolder folder;
    assert_int_equal(temporary_file(), -1);
    assert_int_equal(temporary_folder(&folder), STATUS_IO);
    assert_non_null(strstr(status_message(), "/no/such/folder (TMPDIR)"));
}

int main(void) {
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_folder_goes_with_all_that_is_in_it),
        IN_PLACE(what_the_dead_left_goes),
        IN_PLACE(what_the_dying_left_goes),
        IN_PLACE(nothing_else_goes),
        IN_PLACE(files_have_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
