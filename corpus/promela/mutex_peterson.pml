/* expect: holds
 */
/* Peterson's algorithm for two processes. */
bool flag[2]; byte turn, inside;

active [2] proctype P() {
	pid other = 1 - _pid;
again:
	flag[_pid] = true;
	turn = other;
	(!flag[other] || turn == _pid);
	inside++;
	assert(inside == 1);
	inside--;
	flag[_pid] = false;
	goto again
}
