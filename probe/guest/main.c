/* Process 1 of a guest of the lab: runs what the host asks for. The host is
 * src/hardstone/lab/qemu.py; it ends the machine, so that this never returns. */
#include "agent/child.h"
#include "guest/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct channel *open_channel(int argc, char *argv[])
{
    if (argc == 3 && strcmp(argv[1], "port") == 0)
        return channel_open_port(argv[2]);
    if (argc == 4 && strcmp(argv[1], "turns") == 0)
        return channel_open_turns(argv[2], argv[3]);
    errno = EINVAL;
    return NULL;
}

/* Where the guest stands still between two commands, no time passes there: the second would begin
 * with what the first has left of the real-time budget of that second (sched_rt_period_us). Sleep
 * takes no time of the host's. */
static void rest(const struct channel *channel)
{
    if (channel->to_poll < 0)
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
}

int main(int argc, char *argv[])
{
    static struct frame frame;
    struct channel *channel = open_channel(argc, argv);
    if (!channel) {
        printf("hardstone-guest: no channel to the host: %s\n", strerror(errno));
        return 1;
    }
    unsigned char version = FRAME_VERSION;
    bool is_there = frame_send(channel, FRAME_READY, &version, 1);
    while (is_there && frame_receive(channel, &frame))
        if (frame.type == FRAME_RUN) {
            rest(channel);
            is_there = child_serve(channel, &frame, NULL) == CHILD_ENDED;
        } else {
            answer_clock(channel, &frame, &is_there);
        }
    printf("hardstone-guest: the host is gone\n");
    return 1;
}
