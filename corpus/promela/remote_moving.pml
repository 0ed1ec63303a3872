/* expect: invalid-end-state
 */
/* Remote references to labels and to locals of processes with numbers. */
byte x;
proctype W(byte k) { byte t; t = k; 
wait: x == k; t = t + 1;
crit: x = x + 1; t = 0 }
active proctype M() { pid a, b; atomic { a = run W(0); b = run W(1) };
	(W[a]@crit) -> assert(W[a]:t == 1);
	if :: W[b]@wait -> skip :: W[b]:t == 2 -> assert(x == 1) :: else fi;
	assert(!(W[b]@crit && W[b]:t == 2)) }
