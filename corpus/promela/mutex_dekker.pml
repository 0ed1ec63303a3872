/* expect: holds
 */
/* Dekker's algorithm. */
bool want[2]; byte turn, inside;

active [2] proctype P() {
	pid me = _pid, other = 1 - _pid;
	do
	:: want[me] = true;
	   do
	   :: want[other] ->
		if
		:: turn == other -> want[me] = false; turn == me; want[me] = true
		:: else
		fi
	   :: else -> break
	   od;
	   inside++; assert(inside == 1); inside--;
	   turn = other; want[me] = false
	od
}
