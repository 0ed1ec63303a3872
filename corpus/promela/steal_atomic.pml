/* expect: holds
 */
/* The same queue with every operation in one step. */
byte head, tail = 2; byte taken[2];

active proctype Owner() {
	do
	:: d_step { head < tail -> tail--; taken[tail]++ }; assert(taken[0] < 2 && taken[1] < 2)
	:: head >= tail -> break
	od
}

active proctype Thief() {
	if
	:: d_step { head < tail -> taken[head]++; head++ }; assert(taken[0] < 2 && taken[1] < 2)
	:: head >= tail
	fi
}
