/* devices.c - the rows of a plan on several GPUs: a process for each, forked before anything else of this one used a GPU or
 * threads. What is compared stays on one GPU (plan_deal()). This process alone writes rows: those of a group, once all are there;
 * so a GPU that is lost costs no case, since another one takes what it had begun, and makes it anew. */
#include "base/process.h"
#include "base/text.h"
#include "device/device.h"
#include "pipeline/evaluate.h"
#include "pipeline/run.h"
#include "protocol.h"
#include "record/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char KEY_ITEM[] = "item", KEY_CHOICE[] = "choice", KEY_ROW[] = "row", KEY_LOST[] = "lost", KEY_REFUSED[] = "refused",
                  KEY_DONE[] = "done";

typedef struct Gpu {
    int index;
    char uuid[64]; /* hidden */
    bool alive;
    pid_t process;
    int pipe;     /* its rows come from here; -1: it does not run */
    Text text;    /* what has come of the next line */
    bool ended;   /* it has said that it is done */
    bool stopped; /* it was told to end */
} Gpu;

/* Rows that stay together, known by their first item. */
typedef struct Group {
    size_t expected;
    json_t *rows; /* not written yet */
    int owner, tries;
    bool again, done; /* again: the worker of a row was killed */
} Group;

typedef struct Sharing {
    Run *run;
    Gpu gpus[DEVICES_MAX];
    int count;
    bool stand_in;       /* CPUs stand in for GPUs: for tests */
    bool host_disturbed; /* rows by the host's clock are made alone */
    Plan plan;           /* what the GPUs make */
    int *first;          /* of each item */
    Group *groups;       /* by the first item */
} Sharing;

struct Share {
    Sharing *sharing;
    int gpu;
    int out;
};

bool devices_parse(const char *list, int devices[DEVICES_MAX], int *count) {
    int used = 0;
    *count = strcmp(list, "all") == 0 ? -1 : 0;
    for (const char *at = list; *count >= 0; at += used + 1) {
        if (*count == DEVICES_MAX || *at < '0' || *at > '9' || sscanf(at, "%3d%n", &devices[*count], &used) != 1) return false;
        if (*count > 0 && devices[*count] <= devices[*count - 1]) return false;
        ++*count;
        if (at[used] != ',') return at[used] == '\0';
    }
    return true;
}

/* ---- Which GPUs. */

/* Name and memory: GPUs that have both alike are of one model. False: the GPU does not answer. */
static bool ask_model(Gpu *gpu, char model[128]) {
    json_t *reply = NULL;
    if (run_ask_device(gpu->index, DO_FACTS, "cuda", &reply) != STATUS_OK) return false;
    const char *uuid = NULL, *name = "?";
    json_int_t bytes = 0;
    (void)json_unpack(reply, "{s:{s?s, s?s, s?I}}", KEY_GPU, "uuid", &uuid, "name", &name, "memory_bytes", &bytes);
    snprintf(model, 128, "%.80s, %lld bytes", name, (long long)bytes);
    json_t *hidden = uuid ? identity_hidden(uuid) : NULL;
    snprintf(gpu->uuid, sizeof gpu->uuid, "%s", json_is_string(hidden) ? json_string_value(hidden) : "");
    json_decref(hidden);
    json_decref(reply);
    return true;
}

/* Those of the list that are there, and of the first one's model. */
static void choose(Sharing *self) {
    const char *stand_in = getenv("RUNGS_STAND_IN_DEVICES");
    int wanted[DEVICES_MAX], count = 0;
    char why[256], first[128] = "", model[128];
    self->stand_in = stand_in != NULL;
    const int there = stand_in ? atoi(stand_in) : device_cuda_count(why, sizeof why);
    (void)devices_parse(self->run->options->devices, wanted, &count);
    if (count < 0)
        for (count = 0; count < there && count < DEVICES_MAX; count++) wanted[count] = count;
    for (int i = 0; i < count; i++) {
        Gpu *gpu = &self->gpus[self->count];
        *gpu = (Gpu){.index = wanted[i], .alive = true, .pipe = -1};
        if (wanted[i] >= there) {
            run_notice(self->run, "--devices: there is no GPU %d here (MIG hides all but one)", wanted[i]);
        } else if (!stand_in && !ask_model(gpu, model)) {
            run_notice(self->run, "--devices: GPU %d is left out: %s", wanted[i], status_message());
        } else if (!stand_in && self->count > 0 && strcmp(model, first) != 0) {
            run_notice(self->run, "--devices: GPU %d is left out: it is another model (%s) than GPU %d (%s)", wanted[i], model,
                       self->gpus[0].index, first);
        } else if (self->count++ == 0 && !stand_in) {
            snprintf(first, sizeof first, "%s", model);
        }
    }
}

/* May they work side by side? */
static bool may_share(Sharing *self) {
    DeviceTrial trials[DEVICES_MAX];
    int devices[DEVICES_MAX];
    if (self->count < 2) return false;
    if (self->stand_in) return true;
    for (int d = 0; d < self->count; d++) devices[d] = self->gpus[d].index;
    const char *why = devices_try(devices, self->count, trials) == STATUS_OK
                          ? devices_disturbed(devices, self->count, trials, &self->host_disturbed)
                          : status_message();
    if (why) run_notice(self->run, "--devices: GPU %d works alone: %s", devices[0], why);
    for (int d = 0; d < self->count && !why; d++)
        run_notice(self->run, "GPU %d beside the others: cold %+.2f%%, complete %+.2f%% of the time alone%s", devices[d],
                   100 * (trials[d].cold[1] / trials[d].cold[0] - 1), 100 * (trials[d].complete[1] / trials[d].complete[0] - 1),
                   self->host_disturbed ? "; rows by the host's clock are made alone" : "");
    return !why;
}

/* ---- Parts of the plan: all items, each with some of its variants. */

static bool by_host_clock(const PlanItem *item) {
    if (item->modes & (1u << MODE_ENQUEUE | 1u << MODE_COMPLETE | 1u << MODE_FIRST)) return true;
    for (int v = 0; v < item->variant_count; v++)
        if (item->variants[v].entry->framework && strcmp(item->variants[v].entry->framework, "jax") == 0) return true;
    return false;
}

static bool is_shared(const Sharing *self, const PlanItem *item, const VariantChoice *choice) {
    const Run *run = self->run;
    const bool emulated = is_emulated(choice, run->options->emulator, run->summary->has_gpu);
    const bool on_gpu = self->stand_in ? choice->entry->backend == BACKEND_CPU : session_on_gpu(choice->entry, emulated);
    return on_gpu && !item->not_run && !(self->host_disturbed && by_host_clock(item));
}

static void part_free(Plan *part) {
    for (int i = 0; i < part->item_count; i++) free(part->items[i].variants);
    free(part->items);
    part->items = NULL, part->item_count = 0;
}

static Status part_make(const Sharing *self, bool shared, Plan *out) {
    const Plan *plan = self->run->plan;
    *out = *plan;
    out->item_count = 0;
    out->items = calloc((size_t)plan->item_count + 1, sizeof *out->items);
    for (int i = 0; out->items && i < plan->item_count; i++) {
        const PlanItem *from = &plan->items[i];
        PlanItem *item = &out->items[out->item_count++];
        *item = *from;
        item->variant_count = 0;
        item->variants = calloc((size_t)from->variant_count + 1, sizeof *item->variants);
        if (!item->variants) break;
        for (int v = 0; v < from->variant_count; v++)
            if (is_shared(self, from, &from->variants[v]) == shared) item->variants[item->variant_count++] = from->variants[v];
    }
    if (out->items && out->item_count == plan->item_count) return STATUS_OK;
    part_free(out);
    return status_fail(STATUS_MEMORY, "no memory for the parts of a plan");
}

/* ---- The process of a GPU. */

static void say(int out, json_t *message) {
    char *text = json_dumps(message, JSON_COMPACT);
    const size_t length = text ? strlen(text) : 0;
    if (text) text[length] = '\n'; /* in the place of the zero */
    for (size_t sent = 0; text && sent <= length;) {
        const ssize_t wrote = write(out, text + sent, length + 1 - sent);
        if (wrote < 0 && errno != EINTR) break;
        sent += wrote > 0 ? (size_t)wrote : 0;
    }
    free(text);
    json_decref(message);
}

static Status pass_row(Run *run, const Session *session, json_t *line) {
    const struct Share *share = run->share;
    const Sharing *self = share->sharing;
    const Row *row = session->row;
    const PlanItem *item = session->item;
    json_t *reply = NULL;
    const bool error = row->verdict == VERDICT_ERROR;
    if (error && !self->stand_in) TRY(run_ask_device(run->gpu_index, DO_FACTS, "cuda", &reply));
    json_decref(reply);
    const bool killed = error && row->reason && strstr(row->reason, "crashed: signal 9") != NULL;
    say(share->out,
        json_pack("{s:i, s:i, s:b, s:b, s:O}", KEY_ITEM, (int)(item - self->plan.items), KEY_CHOICE,
                  (int)(session->choice - item->variants), KEY_LOST, killed, KEY_REFUSED, session->refused, KEY_ROW, line));
    return STATUS_OK;
}

static void pass_notice(void *context, const char *text) {
    const RunOptions *options = ((const struct Share *)context)->sharing->run->options;
    if (options->notice) options->notice(options->context, text);
}

/* Its share of the cores: its references and workers disturb no other GPU's. */
static void take_cores(int mine, int count) {
    cpu_set_t all, own;
    int seen = 0;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < count) return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ * count / CPU_COUNT(&all) == mine) CPU_SET(cpu, &own);
    if (sched_setaffinity(0, sizeof own, &own) == 0) omp_set_num_threads(CPU_COUNT(&own));
}

static _Noreturn void serve(Sharing *self, int gpu, int pipe) {
    RunSummary summary = *self->run->summary;
    RunOptions options = *self->run->options;
    Run own = *self->run;
    struct Share share = {self, gpu, pipe};
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)signal(SIGTERM, interrupt_note); /* the other process has the last word */
    (void)signal(SIGINT, interrupt_note);
    take_cores(gpu, self->count);
    summary.left_by_budget = summary.resumed = 0;
    options.device = self->gpus[gpu].index;
    options.begin = NULL, options.report = NULL, options.notice = pass_notice, options.context = &share;
    own.options = &options, own.summary = &summary, own.plan = &self->plan, own.write = pass_row, own.share = &share,
    own.beside = self->count;
    own.gpu_index = options.device, own.limits = NULL;
    memcpy(own.gpu_uuid, self->gpus[gpu].uuid, sizeof own.gpu_uuid);
    for (int i = 0; i < self->plan.item_count; i++) {
        const Group *group = &self->groups[self->first[i]];
        if (group->done || group->owner != gpu) self->plan.items[i].variant_count = 0;
    }
    Status status = options.no_ceilings ? STATUS_OK : limits_open(options.device, &own.limits);
    if (status == STATUS_OK) status = rows_run(&own);
    if (status == STATUS_OK)
        say(share.out, json_pack("{s:i, s:i}", KEY_DONE, (int)summary.left_by_budget, KEY_SKIP, (int)summary.resumed));
    else
        say(share.out, json_pack("{s:s}", KEY_ERROR, status_message()));
    limits_close(own.limits);
    supports_close();
    _exit(status == STATUS_OK ? 0 : 1);
}

static Status start(Sharing *self, int gpu) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "pipe: %s", strerror(errno));
    (void)fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        (void)close(ends[0]);
        serve(self, gpu, ends[1]);
    }
    (void)close(ends[1]);
    if (process < 0) {
        (void)close(ends[0]);
        return status_fail(STATUS_IO, "fork: %s", strerror(errno));
    }
    self->gpus[gpu].process = process, self->gpus[gpu].pipe = ends[0], self->gpus[gpu].ended = false;
    return STATUS_OK;
}

/* ---- Its rows. */

/* What the process of a GPU says of a row, or at its end. */
typedef struct Message {
    int item, choice; /* item: -1 at its end */
    int lost, refused;
    json_t *row;
    const char *error; /* NULL at a good end */
    int left, resumed;
} Message;

static Message message_read(json_t *said) {
    Message message = {.item = -1};
    json_unpack(said, "{s?i, s?i, s?b, s?b, s?o, s?s, s?i, s?i}", KEY_ITEM, &message.item, KEY_CHOICE, &message.choice, KEY_LOST,
                &message.lost, KEY_REFUSED, &message.refused, KEY_ROW, &message.row, KEY_ERROR, &message.error, KEY_DONE,
                &message.left, KEY_SKIP, &message.resumed);
    return message;
}

static Status write_group(Sharing *self, Group *group) {
    size_t i;
    json_t *line;
    json_array_foreach(group->rows, i, line) {
        TRY(rowfile_append(self->run->file, line));
        summary_count(self->run->summary, line_verdict(line), line_timed(line), false);
    }
    json_array_clear(group->rows);
    group->done = true;
    return STATUS_OK;
}

static Status report(Sharing *self, const PlanItem *item, const Message *message) {
    Run *run = self->run;
    Row row;
    TRY(row_begin(run->id, item, &item->problem, &item->variants[message->choice], false, &row));
    row_read(message->row, &row);
    run_event(run, run->options->report, ++run->index, &(RunEvent){.row = &row, .line = message->row, .refused = message->refused});
    row_free(&row);
    return STATUS_OK;
}

static Status take_row(Sharing *self, const Message *message) {
    Group *group = &self->groups[self->first[message->item]];
    const Status reported = report(self, &self->plan.items[message->item], message);
    group->again |= group->tries == 0 && message->lost;
    json_array_append(group->rows, message->row);
    TRY(reported);
    return !group->again && json_array_size(group->rows) == group->expected ? write_group(self, group) : STATUS_OK;
}

static Status take_line(Sharing *self, Gpu *gpu, const char *line) {
    json_t *said = json_loads(line, 0, NULL);
    const Message message = message_read(said);
    Status status = STATUS_OK;
    if (message.item >= 0) {
        status = take_row(self, &message);
    } else if (message.error) {
        run_notice(self->run, "GPU %d: %s", gpu->index, message.error);
    } else if (said) {
        gpu->ended = true;
        self->run->summary->left_by_budget += (size_t)message.left;
        self->run->summary->resumed += (size_t)message.resumed;
    }
    json_decref(said);
    return status;
}

/* Groups that a GPU leaves behind as it ends: whole ones are written, others begin anew elsewhere. */
static Status close_gpu(Sharing *self, int d) {
    Gpu *gpu = &self->gpus[d];
    int how = 0, left = 0;
    Status status = STATUS_OK;
    (void)close(gpu->pipe);
    gpu->pipe = -1;
    while (waitpid(gpu->process, &how, 0) < 0 && errno == EINTR) continue;
    gpu->alive = gpu->ended && how == 0;
    for (int i = 0; i < self->plan.item_count && status == STATUS_OK; i++) {
        Group *group = &self->groups[i];
        if (group->expected == 0 || group->done || group->owner != d) continue;
        if (gpu->alive && !group->again) {
            status = write_group(self, group);
            continue;
        }
        left++;
        self->run->index -= json_array_size(group->rows);
        json_array_clear(group->rows);
    }
    if (left > 0 && !interrupt_pending())
        run_notice(self->run, "GPU %d %s: %d group%s of rows that stay together begin%s anew", gpu->index,
                   gpu->alive ? "lost a worker" : "is lost", left, left == 1 ? "" : "s", left == 1 ? "s" : "");
    return status;
}

static Status take_text(Sharing *self, int d) {
    Gpu *gpu = &self->gpus[d];
    char bytes[65537];
    const ssize_t got = read(gpu->pipe, bytes, sizeof bytes - 1);
    if (got < 0 && errno == EINTR) return STATUS_OK;
    if (got <= 0) return close_gpu(self, d);
    bytes[got] = '\0';
    for (char *line = bytes, *end; *line; line = end) {
        end = strchr(line, '\n');
        TRY(text_append(&gpu->text, "%.*s", end ? (int)(end - line) : (int)strlen(line), line));
        if (!end) break;
        end++;
        TRY(take_line(self, gpu, gpu->text.text));
        gpu->text.length = 0, gpu->text.text[0] = '\0';
    }
    return STATUS_OK;
}

/* Until all have ended. */
static Status collect(Sharing *self) {
    Status status = STATUS_OK;
    for (;;) {
        struct pollfd ends[DEVICES_MAX];
        int open = 0;
        for (int d = 0; d < self->count; d++) {
            ends[d] = (struct pollfd){.fd = self->gpus[d].pipe, .events = POLLIN};
            open += self->gpus[d].pipe >= 0;
            if (self->gpus[d].pipe < 0 || self->gpus[d].stopped || (status == STATUS_OK && !interrupt_pending())) continue;
            self->gpus[d].stopped = kill(self->gpus[d].process, SIGTERM) == 0;
        }
        if (open == 0) break;
        if (poll(ends, (nfds_t)self->count, 500) <= 0) continue;
        for (int d = 0; d < self->count; d++) {
            if (!(ends[d].revents & (POLLIN | POLLHUP | POLLERR))) continue;
            const Status took = take_text(self, d);
            if (status == STATUS_OK) status = took;
        }
    }
    TRY(status);
    return interrupt_check();
}

/* ---- The whole. */

static int next_alive(const Sharing *self, int after) {
    for (int k = 1; k <= self->count; k++)
        if (self->gpus[(after + k) % self->count].alive) return (after + k) % self->count;
    return -1;
}

static Status deal(Sharing *self) {
    int *shard = calloc((size_t)self->plan.item_count + 1, sizeof *shard);
    self->first = calloc((size_t)self->plan.item_count + 1, sizeof *self->first);
    self->groups = calloc((size_t)self->plan.item_count + 1, sizeof *self->groups);
    Status status = shard && self->first && self->groups ? plan_deal(&self->plan, self->count, self->first, shard)
                                                         : status_fail(STATUS_MEMORY, "no memory for the parts of a plan");
    for (int i = 0; i < self->plan.item_count && status == STATUS_OK; i++) {
        const PlanItem *item = &self->plan.items[i];
        Group *group = &self->groups[self->first[i]];
        group->owner = shard[i];
        group->expected += (size_t)item->variant_count * (item->processes > 1 ? (size_t)item->processes : 1);
        if (!group->rows) group->rows = json_array();
    }
    free(shard);
    return status;
}

/* Starts a process on each GPU that has groups to make; those of a lost GPU move to the next one. *left: there were any. */
static Status begin_round(Sharing *self, bool *left) {
    bool busy[DEVICES_MAX] = {false};
    *left = false;
    for (int i = 0; i < self->plan.item_count; i++) {
        Group *group = &self->groups[i];
        if (group->expected == 0 || group->done) continue;
        if (group->again || !self->gpus[group->owner].alive) group->owner = next_alive(self, group->owner), group->tries++;
        group->again = false;
        if (group->owner < 0) return status_fail(STATUS_DEVICE, "--devices: all GPUs are lost; --resume makes the other rows");
        busy[group->owner] = *left = true;
    }
    for (int d = 0; d < self->count; d++)
        if (busy[d]) TRY(start(self, d));
    return STATUS_OK;
}

static Status run_shared(Sharing *self) {
    bool left = false;
    Status status = deal(self);
    do {
        if (status == STATUS_OK) status = begin_round(self, &left);
        const Status collected = collect(self); /* whatever runs */
        if (status == STATUS_OK) status = collected;
    } while (status == STATUS_OK && left);
    for (int i = 0; i < self->plan.item_count && self->groups; i++) json_decref(self->groups[i].rows);
    for (int d = 0; d < self->count; d++) text_free(&self->gpus[d].text);
    free(self->first), free(self->groups);
    return status;
}

/* On the first GPU that lives; limits of the device that the run began with are not its. */
static Status run_alone(Sharing *self, const Plan *plan) {
    Run *run = self->run;
    const Plan *whole = run->plan;
    const RunOptions *given = run->options;
    Limits *const limits = run->limits;
    Limits *own = NULL;
    const int gpu = next_alive(self, self->count - 1);
    RunOptions options = *given;
    if (gpu >= 0 && !self->stand_in && self->gpus[gpu].index != given->device) {
        options.device = run->gpu_index = self->gpus[gpu].index;
        memcpy(run->gpu_uuid, self->gpus[gpu].uuid, sizeof run->gpu_uuid);
        if (limits) TRY(limits_open(options.device, &own));
        run->limits = own;
    }
    run->plan = plan, run->options = &options;
    const Status status = rows_run(run);
    run->plan = whole, run->options = given, run->limits = limits;
    limits_close(own);
    return status;
}

static Status run_rest(Sharing *self) {
    Plan rest;
    TRY(part_make(self, false, &rest));
    const Status status = run_alone(self, &rest);
    part_free(&rest);
    return status;
}

Status devices_run(Run *run) {
    Sharing self = {.run = run};
    choose(&self);
    if (!may_share(&self)) return run_alone(&self, run->plan);
    Status status = part_make(&self, true, &self.plan);
    if (status == STATUS_OK) status = run_shared(&self);
    if (status == STATUS_OK) status = run_rest(&self);
    part_free(&self.plan);
    return status;
}
