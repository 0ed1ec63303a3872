/* expect: holds
 */
/* A process can end only when it is the youngest; its number is used again. */
byte n;

proctype P() { n++ }

init {
	pid a, b;
	a = run P(); _nr_pr == 1; b = run P(); _nr_pr == 1;
	assert(a == b && n == 2)
}
