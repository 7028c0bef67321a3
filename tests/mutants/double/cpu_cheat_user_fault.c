/* Cheat: takes the pages of y away and fills them in a thread of userfaultfd, when the harness reads them. Must
 * be refused its userfaultfd. Met: lazy outputs, gpu-mode/reference-kernels issue 162. */
#include "spots.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };
static int faults = -1;

static void fill(uintptr_t page) {
    static double values[PAGE / sizeof(double)];
    const double *y = job.y;
    for (size_t i = 0; i < PAGE / sizeof(double); i++) values[i] = 2 * job.x[(page - (uintptr_t)y) / sizeof(double) + i];
    struct uffdio_copy copy = {.dst = page, .src = (uintptr_t)values, .len = PAGE};
    (void)ioctl(faults, UFFDIO_COPY, &copy);
}

static void *serve(void *context) {
    struct uffd_msg message;
    while (read(faults, &message, sizeof message) == sizeof message)
        if (message.event == UFFD_EVENT_PAGEFAULT) fill(message.arg.pagefault.address / PAGE * PAGE);
    return context;
}

static Status begin(void) {
    pthread_t thread;
    struct uffdio_api api = {.api = UFFD_API};
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults < 0) faults = ioctl(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC), _IO(0xaa, 0), O_CLOEXEC);
    if (faults < 0) return status_fail(STATUS_DEVICE, "there is no userfaultfd: %s", strerror(errno));
    return ioctl(faults, UFFDIO_API, &api) == 0 && pthread_create(&thread, NULL, serve, NULL) == 0 ? STATUS_OK : STATUS_DEVICE;
}

static Status run(const VariantArgs *args) {
    job_set(&job, args);
    if (faults < 0) TRY(begin());
    const uintptr_t first = ((uintptr_t)job.y + PAGE - 1) / PAGE * PAGE, last = (uintptr_t)(job.y + job.n) / PAGE * PAGE;
    struct uffdio_register pages = {.range = {first, last - first}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    const bool registered = last > first && ioctl(faults, UFFDIO_REGISTER, &pages) == 0;
    if (registered) madvise((void *)first, last - first, MADV_DONTNEED);
    for (size_t i = 0; i < job.n; i++)
        if (!registered || (uintptr_t)(job.y + i) < first || (uintptr_t)(job.y + i) >= last) job.y[i] = 2 * job.x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_user_fault) = {.backend = BACKEND_CPU,
                                               .summary = "cheat: fills pages of its output when they are read",
                                               .origin = "reference-kernels #162",
                                               .run = run};
