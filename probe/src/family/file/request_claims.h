/* What FIO-B-ASY claims of asynchronous I/O of POSIX (aio_read). */
#ifndef HS_FAMILY_FILE_REQUEST_CLAIMS_H
#define HS_FAMILY_FILE_REQUEST_CLAIMS_H

#include "base/posix_source.h"

#include "family/file/channel.h"
#include "family/file/rescue.h"
#include "run/run.h"

/* Tries all claims with `pipe`, an empty channel, and `file`, a scratch file. Leaves the pipe empty
 * and nothing under way. 0, or the errno value with which the system refuses asynchronous I/O; then
 * there is no verdict. */
int request_claims_try(struct run *run, const struct channel *pipe, int file,
                       struct rescue *rescue);

#endif
