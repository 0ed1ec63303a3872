/* expect: assertion
 */
/* Structures within arrays of structures, in variables, locals and messages. */
typedef A { byte v[2]; short w };
typedef B { A a[2]; bit f };
B g[2]; chan c = [1] of { A };
active proctype P() { A l; byte i;
	for (i : 0 .. 1) { g[i].a[1 - i].v[i] = i + 1 };
	l.v[1] = 7; l.w = -3; c!l; g[1].f = 1 }
active proctype Q() { c?g[0].a[0]; assert(g[0].a[0].w == -3 && g[0].a[0].v[1] == 7); assert(g[1].f == 1) }
