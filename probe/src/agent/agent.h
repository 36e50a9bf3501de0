/* `hardstone-probe agent FOLDER WORD [WHO]`: the target's side of a connection. It writes the line
 * "hardstone-agent WORD", and speaks in frames (frame.h) on its standard input and output from then
 * on; the first is H with the version. Words in a frame are each ended by a 0 byte.
 *
 *   R, I, Z, S, C   as a guest's (frame.h). Outside of a command I, Z and S are ignored.
 *   F  PATH OFFSET MOST: bytes of a regular file (an absolute path, or a name in FOLDER) in frames
 *      O, then X: 0, errno.
 *   D  NAME...: removes these files of FOLDER. K: none, or "failed" NAME ERRNO-TEXT.
 *   L  PATH...: the keeper takes the lock (flock) on the first PATH that can be opened, or made. K:
 *      "locked" PATH; "held" PLACE PATH, PLACE as the system lists locks; "failed" PATH ERRNO-TEXT.
 *   U  The keeper gives the lock back. K.
 *   J  NUMBER DEADLINE_MS ARGUMENT...: a job at the end of the queue. K: "queued", or "refused"
 *      REASON. NUMBER: 0 to 9999.
 *   Q  K: "keeper" PID, or "none"; then for each job, in order of its number, NUMBER STATE DETAIL:
 *      "queued" ""; "running" PID; "ended" CODE, or minus the signal, and " unsaved" after it where
 *      N.exit could not be written; "lost" ""; "dropped" "". Without a keeper as the files tell.
 *   W  NUMBER MOST_MS: as Q, once that job has ended or is not known, or MOST_MS have passed.
 *   P  "stop": the end of input for the running job, and no queued one begins. "kill": SIGKILL for
 *      the running job's process group. K.
 *   B  Kills, unlocks, removes FOLDER; the keeper exits. K: none, or "failed" ERRNO-TEXT.
 *
 * L and J start a keeper where there is none (keeper.h). What is no frame, has no words where it
 * should, or is not in this list, is answered by N with a text, and the agent ends.
 *
 * The agent ends at the end of its input, and when no frame has come for `idle_ms` (in W: after the
 * answer), and ends the command that it runs; the keeper lives on. Without one it removes a FOLDER
 * that has a file `brief` and never had a job: who deployed it has gone, and would not come back.
 */
#ifndef HS_AGENT_AGENT_H
#define HS_AGENT_AGENT_H

#include "base/posix_source.h"

#include <stdbool.h>

enum { AGENT_VERSION = 3, AGENT_MOST_WORD_BYTES = 64 };

enum agent_frame {
    AGENT_FILE = 'F',
    AGENT_REMOVE = 'D',
    AGENT_LOCK = 'L',
    AGENT_UNLOCK = 'U',
    AGENT_JOB = 'J',
    AGENT_QUERY = 'Q',
    AGENT_WAIT = 'W',
    AGENT_STOP = 'P',
    AGENT_BYE = 'B',
    AGENT_ANSWER = 'K',
    AGENT_NOT_UNDERSTOOD = 'N',
};

struct agent {
    const char *folder, *word;
    int input, output;
    int idle_ms;   /* without a frame */
    int lease_ms;  /* of a keeper without jobs and agents */
    int grace_ms;  /* from SIGTERM to SIGKILL */
    int settle_ms; /* from the last job that came to the begin of the first */
};

/* Whether WORD and WHO of the command are of [A-Za-z0-9@._-], at most AGENT_MOST_WORD_BYTES. */
bool agent_word_is_valid(const char *word);

/* Serves until the host is gone. The exit code: EXIT_FINE; EXIT_USAGE, with a message, where the
 * folder is of no use; EXIT_MISSING where the system has no processes or sockets. */
int agent_serve(const struct agent *agent);

#endif
