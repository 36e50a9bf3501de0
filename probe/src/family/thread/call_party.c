#include "family/thread/call_party.h"

#include "work/kernel_operations.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MAPPED_BYTES ((size_t)1 << 20)

static void step(struct call_party *party)
{
    atomic_fetch_add(&party->step_count, 1);
}

static int copy(struct call_party *party)
{
    return kernel_transfer(party->pipe[1], party->pipe[0], party->buffer, sizeof party->buffer);
}

static int map(struct call_party *party)
{
    return kernel_map(MAPPED_BYTES, party->page_bytes);
}

/* Two steps at once: the party stays inside. */
static int be_child(void *argument)
{
    struct call_party *party = argument;
    atomic_fetch_add(&party->step_count, 2);
    return 0;
}

static int make_child(struct call_party *party)
{
    return kernel_in_child(be_child, party);
}

static int scan(struct call_party *party)
{
    (void)party;
    return kernel_scan("/etc");
}

static int wait_for_byte(struct call_party *party)
{
    unsigned char byte;
    ssize_t got;
    while ((got = read(party->pipe[0], &byte, 1)) < 0 && errno == EINTR)
        ;
    return got == 1 ? 0 : errno;
}

const struct call_kind call_kinds[CALL_KINDS] = {
    {"copy", "write and read of 16 KB through a pipe", false, copy},
    {"map", "mmap, page faults, munmap", false, map},
    {"fork", "fork, exit and wait", false, make_child},
    {"scan", "a scan of a folder", false, scan},
    {"wait", "a read that blocks and is woken", true, wait_for_byte},
};

/* A copy that does not fit into the pipe is an error, and no wait for ever. */
static void choose_blocking(const struct call_party *party)
{
    for (int i = 0; i < 2 && !call_kinds[party->kind].is_woken; i++)
        fcntl(party->pipe[i], F_SETFL, O_NONBLOCK);
}

int call_party_open(struct call_party *party, int kind)
{
    party->kind = kind;
    party->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (pipe(party->pipe) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        fcntl(party->pipe[i], F_SETFD, FD_CLOEXEC);
    choose_blocking(party);
    return 0;
}

void call_party_close(struct call_party *party)
{
    close(party->pipe[0]);
    close(party->pipe[1]);
}

void call_party_work(void *argument)
{
    struct call_party *party = argument;
    int error = 0;
    while (error == 0 && !atomic_load(&party->is_over)) {
        step(party);
        error = call_kinds[party->kind].act(party);
        step(party);
    }
    atomic_store(&party->error, error);
}

void call_party_wake(struct call_party *party)
{
    while (write(party->pipe[1], "w", 1) < 0 && errno == EINTR)
        ;
}

void call_party_end(struct call_party *party)
{
    atomic_store(&party->is_over, true);
    if (call_kinds[party->kind].is_woken)
        call_party_wake(party);
}

bool call_party_is_inside(struct call_party *party)
{
    return atomic_load(&party->step_count) % 2 == 1;
}
