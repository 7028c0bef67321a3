#include "base/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/rungs-test-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static bool exists(const char *name) {
    struct stat facts;
    return lstat(in_folder(name), &facts) == 0;
}

/* Of an hour ago. */
static void put(const char *name) {
    const struct timespec then[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), then, 0), 0);
}

static void write_to(const char *name, const char *text) {
    Output out;
    assert_int_equal(output_open(in_folder(name), &out), STATUS_OK);
    assert_int_equal(output_close(&out, output_write(&out, text, strlen(text))), STATUS_OK);
}

static void expect(const char *name, const char *text) {
    char found[100] = "";
    FILE *file = fopen(in_folder(name), "r");
    assert_non_null(file);
    assert_true(fgets(found, sizeof found, file) || !*text);
    fclose(file);
    assert_string_equal(found, text);
}

static int entries(void) {
    int count = 0;
    DIR *directory = opendir(folder);
    while (directory && readdir(directory)) count++;
    closedir(directory);
    return count - 2;
}

/* Nothing is to be seen of a file before it is whole. */
static void a_file_appears_whole(void **state) {
    (void)state;
    Output out;
    struct stat facts;
    assert_int_equal(output_open(in_folder("new"), &out), STATUS_OK);
    assert_int_equal(output_write(&out, "half", 4), STATUS_OK);
    assert_int_equal(entries(), 0);
    assert_int_equal(output_close(&out, STATUS_CHECK), STATUS_CHECK);
    assert_int_equal(entries(), 0);
    write_to("new", "one");
    expect("new", "one");
    assert_int_equal(chmod(in_folder("new"), 0640), 0);
    assert_int_equal(output_open(in_folder("new"), &out), STATUS_OK);
    assert_int_equal(output_write(&out, "two", 3), STATUS_OK);
    expect("new", "one");
    assert_int_equal(output_close(&out, STATUS_OK), STATUS_OK);
    expect("new", "two");
    assert_int_equal(stat(in_folder("new"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
    assert_int_equal(entries(), 1);
}

/* Two write one file at once: the second to end has it, and nothing is left. */
static void two_at_once(void **state) {
    (void)state;
    Output one, other;
    assert_int_equal(output_open(in_folder("y"), &one), STATUS_OK);
    assert_int_equal(output_open(in_folder("y"), &other), STATUS_OK);
    assert_int_equal(output_write(&one, "one", 3), STATUS_OK);
    assert_int_equal(output_write(&other, "other", 5), STATUS_OK);
    assert_int_equal(output_close(&other, STATUS_OK), STATUS_OK);
    assert_int_equal(output_close(&one, STATUS_OK), STATUS_OK);
    expect("y", "one");
    assert_int_equal(entries(), 1);
}

/* Drafts of the dead go; all else stays. */
static void drafts_of_the_dead_go(void **state) {
    (void)state;
    static const char *const STAY[] = {".rungs-locked", ".rungs-young0",      ".rungs-linked",
                                       ".rungs-their0", ".rungs-longer-name", ".other-abc123"};
    put(".rungs-abc123");
    for (size_t i = 0; i < sizeof STAY / sizeof *STAY; i++)
        if (i != 2) put(STAY[i]);
    const int locked = open(in_folder(STAY[0]), O_RDONLY);
    assert_int_equal(flock(locked, LOCK_EX), 0);
    assert_int_equal(utimensat(AT_FDCWD, in_folder(STAY[1]), NULL, 0), 0);
    put("precious");
    char precious[200];
    snprintf(precious, sizeof precious, "%s", in_folder("precious"));
    assert_int_equal(symlink(precious, in_folder(STAY[2])), 0);
    const bool root = chown(in_folder(STAY[3]), 12345, 12345) == 0;
    write_to("new", "text");
    assert_false(exists(".rungs-abc123"));
    assert_true(exists("precious"));
    for (size_t i = 0; i < sizeof STAY / sizeof *STAY; i++)
        if (i != 3 || root) assert_true(exists(STAY[i]));
    close(locked);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_file_appears_whole),
        IN_FOLDER(two_at_once),
        IN_FOLDER(drafts_of_the_dead_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
