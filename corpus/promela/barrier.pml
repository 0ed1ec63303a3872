/* expect: holds
 */
/* A barrier of three processes, used twice. */
#define N 3
byte waiting, round; byte passed;

active [N] proctype P() {
	byte mine;
	do
	:: mine < 2 ->
		d_step { waiting++; if :: waiting == N -> waiting = 0; round++ :: else fi };
		round > mine;
		mine++;
		assert(round <= mine + 1)
	:: else -> break
	od;
	passed++
}
