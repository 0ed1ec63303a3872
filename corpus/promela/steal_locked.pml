/* expect: assertion
 */
/* A work-stealing queue of two tasks: the owner takes at the tail, a thief at the head. The owner does not lock, and sees a stale head. */
byte head, tail = 2; byte taken[2]; bool lock;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

active proctype Owner() {
	byte t;
	do
	:: tail == 0 -> break
	:: else ->
		t = tail - 1; tail = t;
		if
		:: head <= t -> taken[t]++; assert(taken[t] == 1)
		:: else ->
			tail = t + 1;
			break
		fi
	od
}

active proctype Thief() {
	byte h;
	acquire();
	h = head;
	head = h + 1;
	if
	:: h < tail -> taken[h]++; assert(taken[h] == 1)
	:: else -> head = h
	fi;
	release()
}
