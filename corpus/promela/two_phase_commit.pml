/* expect: holds
 */
/* All commit or none does. */
#define N 2
mtype = { prepare, yes, no, commit, abort };
chan ask[N] = [1] of { mtype };
chan answer = [N] of { mtype };
byte committed, aborted;

active proctype Coordinator() {
	byte i; bool all = true;
	for (i : 0 .. N - 1) { ask[i]!prepare };
	for (i : 0 .. N - 1) { if :: answer?yes :: answer?no -> all = false fi };
	for (i : 0 .. N - 1) { ask[i]!(all -> commit : abort) }
}

active [N] proctype Part() {
	pid me = _pid - 1; mtype got;
	ask[me]?prepare;
	if :: answer!yes :: answer!no fi;
	ask[me]?got;
	if :: got == commit -> committed++ :: got == abort -> aborted++ fi;
	assert(committed == 0 || aborted == 0)
}
