/* expect: holds
 */
/* select chooses any value of its range; for counts through its own. */
byte v, sum; byte a[3];

init {
	select (v : 1 .. 4);
	assert(v >= 1 && v <= 4);
	for (v : 1 .. 3) { sum = sum + v };
	assert(sum == 6);
	for (v in a) { a[v] = v * 2 };
	assert(a[2] == 4)
}
