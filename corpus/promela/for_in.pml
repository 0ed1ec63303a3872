/* expect: holds
 */
/* for over an array and over a channel, and select in every form. */
typedef M { byte v; bit f };
byte a[3]; chan c = [3] of { M }; byte sum, i, j;
active proctype P() { M m; a[1] = 2; a[2] = 5;
	for (i in a) { sum = sum + a[i] };
	m.v = 1; c!m; m.v = 2; m.f = 1; c!m;
	for (m in c) { sum = sum + m.v };
	select (j : 1 .. 3); select (i : 0 .. j); assert(i <= 3); assert(len(c) == 2) }
active proctype Q() { byte k; for (k : 1 .. 2) { sum = 0 } }
