/* expect: assertion
 * preemptions: 0
 */
/* Figure 6 of the paper in spirit: the state before the error is reached first by a switch, and only later
 * without one. A search that stores states but not how they were reached misses the error at bound 0. */
byte at;

active proctype A() {
	if
	:: at == 0 -> at = 1
	fi;
	if
	:: at = 3
	:: at = 2; at = 3
	fi;
	assert(at != 3)
}

active proctype B() {
	at == 2 -> at = 3
}
