/* expect: holds
 */
/* An inline that returns a value: an assignment to what stands before the call, and control goes on in the inline. */
typedef Pair { byte low; byte high }
Pair pair;
byte list[3], calls;

inline larger(a, b) {
	if
	:: a > b -> return a
	:: else -> return b
	fi;
	calls++
}

inline twice(a) {
	byte t;
	t = larger(a, 2);
	return t * 2
}

active [2] proctype P() {
	byte x;
	x = larger(3, _pid);
	assert(x == 3);
	atomic { list[x - 1] = twice(1); assert(list[2] == 4) };
	d_step { pair.high = larger(x, 7); assert(pair.high == 7) }
}
