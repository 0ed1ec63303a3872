/* expect: assertion
 */
/* A work-stealing queue of two tasks: the owner takes at the tail, a thief at the head. Only the thief locks,
 * and both look before they move their end: the last task may be taken twice. */
byte head, tail = 2; byte taken[2]; bool lock;

active proctype Owner() {
	byte t;
	do
	:: tail > 0 && head < tail ->
		t = tail - 1; tail = t;
		taken[t]++; assert(taken[t] == 1)
	:: else -> break
	od
}

active [2] proctype Thief() {
	byte h;
	atomic { !lock -> lock = true };
	h = head;
	if
	:: h < tail -> head = h + 1; taken[h]++; assert(taken[h] == 1)
	:: else
	fi;
	lock = false
}
