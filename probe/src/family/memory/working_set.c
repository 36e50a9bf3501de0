#include "base/posix_source.h"

#include "family/memory/working_set.h"

#include "base/options.h"
#include "base/random.h"
#include "run/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILL_BYTES = 4096, END_WORD = 'e', TURN_WORD = 't' };

/* ---- in the process ---- */

struct place {
    struct working_set_table *table;
    char *halves[WORKING_SET_HALVES];
    size_t page_bytes, half_bytes;
    uint32_t page_count, next;
    uint32_t *order;
    struct random random;
};

static int fill_file(int file, size_t bytes)
{
    char block[FILL_BYTES];
    memset(block, 'h', sizeof block);
    for (size_t done = 0; done < bytes;) {
        size_t wanted = bytes - done < sizeof block ? bytes - done : sizeof block;
        ssize_t written = write(file, block, wanted);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        done += (size_t)written;
    }
    return fsync(file) == 0 ? 0 : errno;
}

/* Reads each page once. Without read-ahead: a page that was taken back is one fault. */
static int map_half(struct place *place, int half)
{
    off_t from = (off_t)(half * place->half_bytes);
    void *memory = mmap(NULL, place->half_bytes, PROT_READ, MAP_SHARED, place->table->file, from);
    if (memory == MAP_FAILED)
        return errno;
    posix_madvise(memory, place->half_bytes, POSIX_MADV_RANDOM);
    place->halves[half] = memory;
    for (size_t at = 0; at < place->half_bytes; at += place->page_bytes)
        (void)*(volatile const char *)(place->halves[half] + at);
    return 0;
}

static int map_and_lock(struct place *place)
{
    int error = map_half(place, 0);
    if (error || !place->table->is_to_lock)
        return error ? error : map_half(place, 1);
    error = mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno;
    if (!error)
        error = map_half(place, 1);
    place->table->lock_error = error;
    return error;
}

/* POSIX: msync with MS_INVALIDATE fails with EBUSY for memory that is locked. */
static void look_at_locks(struct place *place)
{
    struct working_set_table *table = place->table;
    table->locked_bytes = port_locked_bytes();
    for (int i = 0; i < WORKING_SET_HALVES; i++) {
#if HS_HAS_MAPPED_FILES
        bool is_done = msync(place->halves[i], place->half_bytes, MS_ASYNC | MS_INVALIDATE) == 0;
        table->invalidate_error[i] = is_done ? 0 : errno;
#else
        table->invalidate_error[i] = ENOSYS;
#endif
    }
}

static int make_order(struct place *place)
{
    place->order = malloc(place->page_count * sizeof *place->order);
    for (uint32_t i = 0; place->order && i < place->page_count; i++)
        place->order[i] = i;
    place->next = place->page_count;
    return place->order ? 0 : ENOMEM;
}

static void init_place(struct place *place, struct working_set_table *table)
{
    place->table = table;
    place->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    place->half_bytes = table->bytes / WORKING_SET_HALVES / place->page_bytes * place->page_bytes;
    place->page_count = (uint32_t)(WORKING_SET_HALVES * place->half_bytes / place->page_bytes);
    random_start(&place->random, table->seed);
}

/* The other process has ends of its own; the ends of the probe tell this one that it has gone. */
static void close_ends_of_probe(const struct working_set_table *table)
{
    close(table->asks[1]);
    close(table->answers[0]);
}

/* Enters the group first: memory belongs to the group of who uses it first. */
static int set_up(struct place *place)
{
    struct working_set_table *table = place->table;
    if (table->group[0])
        table->enter_error = port_memory_group_enter(table->group);
    munlockall();
    int error = fill_file(table->file, WORKING_SET_HALVES * place->half_bytes);
    if (!error)
        error = map_and_lock(place);
    if (!error)
        error = make_order(place);
    if (!error)
        look_at_locks(place);
    memset(table->accesses, 0, sizeof table->accesses);
    return error;
}

static void shuffle(struct place *place)
{
    for (uint32_t i = place->page_count - 1; i > 0; i--) {
        uint32_t other = (uint32_t)random_below(&place->random, i + 1), kept = place->order[i];
        place->order[i] = place->order[other];
        place->order[other] = kept;
    }
}

/* Where the kernel refuses because the pages are locked, that is the purpose of a lock. */
static void begin_round(struct place *place)
{
    struct working_set_table *table = place->table;
    shuffle(place);
    place->next = 0;
    table->page_out_error = 0;
    for (int i = 0; table->is_paged_out && i < WORKING_SET_HALVES; i++) {
        int error = port_page_out(place->halves[i], place->half_bytes);
        table->page_out_error = error ? error : table->page_out_error;
    }
}

static volatile const char *next_page(struct place *place)
{
    size_t at = place->order[place->next++] * place->page_bytes;
    return at < place->half_bytes ? place->halves[0] + at
                                  : place->halves[1] + (at - place->half_bytes);
}

static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < 0 ? -1 : after - before;
}

static void take_turn(struct place *place)
{
    struct working_set_table *table = place->table;
    const struct clock *clock = &table->clock;
    struct port_usage before, after;
    if (place->next == place->page_count)
        begin_round(place);
    int left = (int)(place->page_count - place->next);
    table->count = table->count < left ? table->count : left;
    port_usage(&before);
    for (int i = 0; i < table->count; i++) {
        volatile const char *page = next_page(place);
        struct page_access *access = &table->accesses[i];
        access->begin_ticks = clock_begin(clock);
        (void)*page;
        access->end_ticks = clock_end(clock);
    }
    port_usage(&after);
    table->minor_faults = grown(before.minor_faults, after.minor_faults);
    table->major_faults = grown(before.major_faults, after.major_faults);
}

static bool get_word(int end, char *word)
{
    ssize_t got;
    while ((got = read(end, word, 1)) < 0 && errno == EINTR)
        ;
    return got == 1;
}

static bool put_word(int end, char word)
{
    ssize_t put;
    while ((put = write(end, &word, 1)) < 0 && errno == EINTR)
        ;
    return put == 1;
}

/* The first word says whether the set is ready: an errno value. */
static void be_working_set(void *argument)
{
    struct place place = {.next = 0};
    char word = 0;
    init_place(&place, argument);
    close_ends_of_probe(place.table);
    int error = set_up(&place);
    bool goes_on = put_word(place.table->answers[1], (char)error) && !error;
    while (goes_on && get_word(place.table->asks[0], &word) && word == TURN_WORD) {
        take_turn(&place);
        goes_on = put_word(place.table->answers[1], TURN_WORD);
    }
    free(place.order);
}

/* ---- in the probe ---- */

static const char *party(const struct working_set *set)
{
    return set->table->is_to_lock ? "process that locks its memory"
                                  : "process that does not lock its memory";
}

static int open_pipes(struct working_set_table *table)
{
    if (pipe(table->asks) != 0)
        return errno;
    if (pipe(table->answers) == 0)
        return 0;
    int error = errno;
    close(table->asks[0]);
    close(table->asks[1]);
    return error;
}

static void close_own_ends(const struct working_set_table *table)
{
    close(table->asks[1]);
    close(table->answers[0]);
}

static int end_process(struct working_set *set)
{
    close_own_ends(set->table);
    set->is_running = false;
    return peer_join(&set->peer);
}

static int refuse_set(struct working_set *set, int error)
{
    struct run *run = set->run;
    char words[PORT_REFUSAL_BYTES + 32], what[64];
    struct port_refusal refusal;
    long long kib = (long long)set->table->bytes / 1024;
    if (set->table->lock_error) {
        port_lock_refusal(error, &refusal);
        snprintf(words, sizeof words, "%s, or choose a smaller size_bytes", refusal.remedy);
        return outcome_set(&run->outcome, STATUS_DENIED, words,
                           "locking %lld KiB of memory (mlockall): %s", kib, refusal.reason);
    }
    if (error == ENOSPC || error == EDQUOT)
        return outcome_set(&run->outcome, STATUS_DENIED,
                           "free space there, set TMPDIR to another folder, or choose a smaller "
                           "size_bytes",
                           "writing a scratch file of %lld KiB: %s", kib, strerror(error));
    snprintf(what, sizeof what, "a scratch file of %lld KiB, in memory", kib);
    return outcome_set_errno(&run->outcome, error, what,
                             "set TMPDIR to another folder, or choose a smaller size_bytes");
}

/* Waits until its set is there. */
static int wait_for_set(struct working_set *set)
{
    char error = 0;
    if (!get_word(set->table->answers[0], &error)) {
        end_process(set);
        return supervise_ended_early(set->run, party(set));
    }
    if (error == 0)
        return 0;
    end_process(set);
    return refuse_set(set, error);
}

int working_set_start(struct working_set *set, struct run *run, const struct ipc_cleanup *cleanup)
{
    set->run = run;
    set->minor_faults = set->major_faults = set->access_count = 0;
    int error = open_pipes(set->table);
    if (error)
        return outcome_set_errno(&run->outcome, error, "a pipe", NULL);
    error =
        peer_start_process(&set->peer, run, cleanup, &run->setup, NULL, be_working_set, set->table);
    close(set->table->asks[0]);
    close(set->table->answers[1]);
    if (error) {
        close_own_ends(set->table);
        return peer_not_started(run, error, party(set), NULL);
    }
    set->is_running = true;
    return wait_for_set(set);
}

static void add(int64_t *sum, int64_t more)
{
    *sum = *sum < 0 || more < 0 ? -1 : *sum + more;
}

int working_set_turn(struct working_set *set, int count)
{
    struct working_set_table *table = set->table;
    char word;
    table->count = count;
    if (!put_word(table->asks[1], TURN_WORD) || !get_word(table->answers[0], &word)) {
        end_process(set);
        return supervise_ended_early(set->run, party(set));
    }
    add(&set->minor_faults, table->minor_faults);
    add(&set->major_faults, table->major_faults);
    set->access_count += table->count;
    return 0;
}

int working_set_stop(struct working_set *set)
{
    if (!set->is_running)
        return 0;
    (void)put_word(set->table->asks[1], END_WORD);
    return end_process(set) == 0 ? 0 : supervise_ended_early(set->run, party(set));
}
