/* expect: holds
 */
/* One of them is left-handed. */
#define N 3
bool fork[N];

active [N] proctype Phil() {
	pid first = (_pid == 0 -> 1 : _pid), second = (_pid == 0 -> 0 : (_pid + 1) % N);
	do
	:: atomic { !fork[first] -> fork[first] = true };
	   atomic { !fork[second] -> fork[second] = true };
	   fork[second] = false; fork[first] = false
	od
}
