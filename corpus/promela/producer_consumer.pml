/* expect: holds
 */
/* A bounded buffer: nothing is lost, nothing is invented. */
chan buffer = [2] of { byte };

active proctype Producer() {
	byte i;
	for (i : 1 .. 4) { buffer!i }
}

active proctype Consumer() {
	byte i, got;
	for (i : 1 .. 4) { buffer?got; assert(got == i) }
}
