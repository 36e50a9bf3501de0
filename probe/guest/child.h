/* One command in the guest, with its streams and its end as frames. */
#ifndef HS_GUEST_CHILD_H
#define HS_GUEST_CHILD_H

#include "guest/frame.h"

/* Runs the words in `request` and serves the host until the command has ended; `request` is used
 * for the frames that come meanwhile. False where the host is gone. */
bool child_serve(struct channel *channel, struct frame *request);

/* Answers what the host may ask at any time; true for a frame that was such a question. */
bool answer_clock(struct channel *channel, const struct frame *frame, bool *is_there);

#endif
