/* expect: assertion
 * preemptions: 2
 */
/* A test and a set that are two steps. */
bool taken; byte inside;

active [2] proctype P() {
	do
	:: !taken -> taken = true; inside++; assert(inside == 1); inside--; taken = false
	od
}
