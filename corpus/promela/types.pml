/* expect: holds
 */
/* Every basic type cuts its values to its width. */
bit a; bool b; byte c; short d; int e; unsigned f : 3; pid p; mtype = { red, green }; mtype m = green;

init {
	a = 3; assert(a == 1);
	b = 2; assert(b == 0);
	c = 257; assert(c == 1);
	d = 32768; assert(d == -32768);
	e = 2147483647; e = e + 1; assert(e < 0);
	f = 9; assert(f == 1);
	p = _pid; assert(p == 0);
	m = red; assert(m == red && m != green)
}
