/* Each kind of channel passes messages in order and leaves nothing behind. */
#include "base/posix_source.h"

#include "family/message/kind.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 4, LONGEST = 3000 };

static struct {
    struct run run;
    struct ipc_cleanup ipc_cleanup;
    struct message *message;
    void *ring;
} room;
static struct message_channel channel;

static bool open_room(void)
{
    memset(&room, 0, sizeof room);
    room.message = calloc(1, message_room_bytes(LONGEST));
    room.ring = calloc(1, message_ring_bytes(LONGEST, DEPTH));
    struct scratch scratch = {.folder = ""};
    CHECK_SAME(scratch_choose(&scratch, true, 1), 0);
    CHECK_SAME(ipc_cleanup_open_with(&room.ipc_cleanup, &room.run, &scratch), 0);
    return CHECK_SAME(scratch_make(&scratch), 0);
}

static void close_room(void)
{
    scratch_remove(&room.ipc_cleanup.scratch);
    ipc_cleanup_close(&room.ipc_cleanup);
    free(room.message);
    free(room.ring);
}

static struct message_plan plan_of(enum message_kind kind, size_t bytes)
{
    return (struct message_plan){.kind = kind,
                                 .bytes = bytes,
                                 .depth = DEPTH,
                                 .place = &room.ipc_cleanup.places[0],
                                 .folder = room.ipc_cleanup.scratch.own,
                                 .memory = room.ring,
                                 .trial = room.message};
}

static void pass(size_t bytes)
{
    struct message *message = room.message;
    for (uint64_t i = 1; i <= DEPTH; i++) {
        message->type = 1;
        content_fill(message->bytes, bytes, i, i);
        CHECK(message_send(&channel, message, bytes));
    }
    for (uint64_t i = 1; i <= DEPTH; i++) {
        memset(message->bytes, 0, bytes);
        CHECK_SAME(message_receive(&channel, message, bytes), (int64_t)bytes);
        CHECK(content_is(message->bytes, bytes, i, i));
    }
    CHECK(!message_try_receive(&channel, message, bytes));
    CHECK(message_try_send(&channel, message, bytes));
    CHECK(message_try_receive(&channel, message, bytes));
    CHECK_SAME(atomic_load(&channel.error), 0);
}

static void check_kind(enum message_kind kind)
{
    static const size_t sizes[] = {1, 7, 64, LONGEST};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct message_plan plan = plan_of(kind, sizes[i]);
        int error = message_open(&channel, &plan);
        if (error == ENOSYS || error == ENOTSUP) {
            tap_skip("not on this system");
            break;
        }
        CHECK_SAME(error, 0);
        pass(sizes[i]);
        message_close(&channel);
    }
}

TEST_IN(open_room(), close_room(), every_kind)
{
    for (int kind = 0; kind < MESSAGE_KINDS; kind++) {
        tap_row(message_kind_names[kind]);
        check_kind((enum message_kind)kind);
    }
}

/* No folder, no key: these kinds are not there. */
TEST_IN(open_room(), close_room(), missing)
{
    struct ipc_cleanup_place place = room.ipc_cleanup.places[0];
    struct message_plan plan = plan_of(MESSAGE_SYSV, 1);
    place.queue_key = 0;
    plan.place = &place;
    CHECK_SAME(message_open(&channel, &plan), ENOSYS);
    plan.kind = MESSAGE_FIFO;
    plan.folder = "";
    CHECK_SAME(message_open(&channel, &plan), ENOENT);
    plan.folder = "/nowhere/at/all";
    CHECK_SAME(message_open(&channel, &plan), ENOENT);
}

/* As on NuttX, where a name below a mounted file system is taken for the mount itself. */
TEST_IN(open_room(), close_room(), folder_that_holds_no_fifo)
{
    struct message_plan plan = plan_of(MESSAGE_FIFO, 1);
    char path[SCRATCH_BYTES + IPC_CLEANUP_NAME_BYTES];
    snprintf(path, sizeof path, "%s%s", plan.folder, plan.place->name);
    CHECK_SAME(mkfifo(path, 0600), 0);
    CHECK_SAME(message_open(&channel, &plan), ENOTSUP);
    CHECK_HOLDS(message_remedy(MESSAGE_FIFO, ENOTSUP), "TMPDIR");
    CHECK_SAME(unlink(path), 0);
}

/* A removed queue is an error that is kept. */
TEST_IN(open_room(), close_room(), removed)
{
    struct message_plan plan = plan_of(MESSAGE_SYSV, 8);
    int error = message_open(&channel, &plan);
    if (error == ENOSYS) {
        tap_skip("no System V queues");
    } else {
        CHECK_SAME(error, 0);
        message_close(&channel);
        CHECK(!message_send(&channel, room.message, 8));
        CHECK_SAME(atomic_load(&channel.error), EINVAL);
        CHECK_SAME(message_check(&room.run, &channel), -1);
        CHECK_SAME(room.run.outcome.status, STATUS_FAILED);
    }
}
