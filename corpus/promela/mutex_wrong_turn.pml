/* expect: assertion
 */
/* Peterson's algorithm with the two assignments the wrong way round. */
bool flag[2]; byte turn, inside;

active [2] proctype P() {
	pid other = 1 - _pid;
again:
	turn = other;
	flag[_pid] = true;
	(!flag[other] || turn == _pid);
	inside++;
	assert(inside == 1);
	inside--;
	flag[_pid] = false;
	goto again
}
