/* What FIO-B-ASY claims of asynchronous I/O by a ring of requests (port/file.h). */
#ifndef HS_FAMILY_FILE_RING_CLAIMS_H
#define HS_FAMILY_FILE_RING_CLAIMS_H

#include "base/posix_source.h"

#include "family/file/channel.h"
#include "family/file/rescue.h"
#include "run/run.h"

/* As request_claims_try. */
int ring_claims_try(struct run *run, const struct channel *pipe, int file, struct rescue *rescue);

#endif
