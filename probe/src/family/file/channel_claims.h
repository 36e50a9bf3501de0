/* What FIO-B-ASY claims of a channel. */
#ifndef HS_FAMILY_FILE_CHANNEL_CLAIMS_H
#define HS_FAMILY_FILE_CHANNEL_CLAIMS_H

#include "base/posix_source.h"

#include "family/file/channel.h"
#include "family/file/rescue.h"
#include "run/run.h"

/* Tries all claims about an empty channel, whose verdicts carry `kind`, and leaves it empty. The
 * caller has ASYNC_SIGNAL blocked in all threads. */
void channel_claims_try(struct run *run, const struct channel *channel, const char *kind,
                        struct rescue *rescue);

#endif
