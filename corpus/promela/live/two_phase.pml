/*
 * A two-phase commit of two: all decide alike, and the decision comes.
 *
 * alike: holds
 * decided_all: holds
 * committed: violated
 * once: holds
 */
mtype = { vote_yes, vote_no, commit, abort };
chan votes = [2] of { mtype };
chan orders[2] = [1] of { mtype };
mtype outcome[2];
byte decided;

active [2] proctype Participant()
{
	if
	:: votes!vote_yes
	:: votes!vote_no
	fi;
	atomic { orders[_pid]?outcome[_pid]; decided++ }
}

active proctype Coordinator()
{
	mtype vote;
	bool all = true;
	byte i;
	for (i : 0 .. 1) {
		votes?vote;
		all = all && vote == vote_yes
	}
	for (i : 0 .. 1) {
		orders[i]!(all -> commit : abort)
	}
}

ltl alike { [] (decided == 2 -> outcome[0] == outcome[1]) }
ltl decided_all { <>[] (decided == 2) }
ltl committed { <> (outcome[0] == commit) }
ltl once { [] (outcome[0] == commit -> [] (outcome[0] == commit)) }
