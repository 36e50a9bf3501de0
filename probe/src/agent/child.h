/* One command on the target, with its streams and its end as frames. */
#ifndef HS_AGENT_CHILD_H
#define HS_AGENT_CHILD_H

#include "agent/frame.h"

#include <stdint.h>

/* How an agent serves a command. Process 1 of a guest has none of it: NULL. */
struct child_rules {
    int (*end_with)(pid_t parent); /* called in the command's process, as port_end_with */
    int idle_ms;                   /* without a frame for so long the host is gone */
    int grace_ms;                  /* where the host is gone: from SIGTERM to SIGKILL */
};

enum child_outcome {
    CHILD_ENDED,
    CHILD_HOST_GONE,
    CHILD_BAD_FRAME, /* with rules: the host sent a frame that no running command takes */
};

/* Runs the words in `request` and serves the host until the command has ended; `request` is used
 * for the frames that come meanwhile. With rules, a command whose host is gone is ended. */
enum child_outcome child_serve(struct channel *channel, struct frame *request,
                               const struct child_rules *rules);

/* Answers what the host may ask at any time; true for a frame that was such a question. */
bool answer_clock(struct channel *channel, const struct frame *frame, bool *is_there);

/* A pipe that does not block, closed by exec. False with errno. */
bool pipe_open(int ends[2]);

/* Each of these signals, up to a 0, is a byte in a pipe from now on: its read end, or -1 with
 * errno. The pipe of the latest call counts, and may lose bytes when it is full. */
int signals_open(const int *numbers);

/* Closes both ends of that pipe. */
void signals_close(int *signals);

/* Signals the process group of a child, or the child that has not made its group yet. */
void signal_group(pid_t leader, int number);

/* CLOCK_MONOTONIC. */
int64_t now_ms(void);

#endif
