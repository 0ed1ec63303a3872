/* expect: invalid-end-state
 * preemptions: 1
 */
/* Two increments that read and write in two steps: one may be lost. */
byte x;

active [2] proctype P() {
	byte t;
	t = x; x = t + 1;
	x == 2
}
