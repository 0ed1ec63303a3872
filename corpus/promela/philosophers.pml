/* expect: invalid-end-state
 */
/* Three philosophers who all take the left fork first. */
#define N 3
bool fork[N];

active [N] proctype Phil() {
	pid left = _pid, right = (_pid + 1) % N;
	do
	:: atomic { !fork[left] -> fork[left] = true };
	   atomic { !fork[right] -> fork[right] = true };
	   fork[right] = false; fork[left] = false
	od
}
