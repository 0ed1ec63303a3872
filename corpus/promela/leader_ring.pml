/* expect: holds
 */
/* Election in a ring of three: the largest number wins, once. */
#define N 3
chan link[N] = [2] of { byte };
byte leaders;

proctype Node(chan in, out; byte mine) {
	byte other;
	out!mine;
end:	do
	:: in?other ->
		if
		:: other > mine -> out!other
		:: other == mine -> leaders++; assert(leaders == 1 && mine == N)
		:: else
		fi
	od
}

init {
	byte i;
	atomic { for (i : 0 .. N - 1) { run Node(link[i], link[(i + 1) % N], i + 1) } }
}
