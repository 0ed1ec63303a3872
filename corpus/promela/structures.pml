/* expect: holds
 */
/* Structures with arrays of structures. */
typedef Inner { byte v[2]; bool ok };
typedef Outer { Inner part[2]; short sum };
Outer o; Outer list[2];

init {
	byte i;
	o.part[1].v[0] = 5; o.part[0].ok = true; o.sum = o.part[1].v[0] + 1;
	assert(o.sum == 6 && o.part[0].ok && !o.part[1].ok);
	for (i : 0 .. 1) { list[i].part[i].v[i] = i + 1 };
	assert(list[0].part[0].v[0] == 1 && list[1].part[1].v[1] == 2)
}
