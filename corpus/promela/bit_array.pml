/* expect: holds
 */
/* The elements of an array are no smaller than a byte, whatever they are called: 256 values, not 2. */
bit flags[2];
typedef Pair { bool both[2] };
Pair pair;

active proctype P() {
	do
	:: flags[0]++
	:: flags[0] == 200 -> pair.both[1] = 5; break
	od;
	assert(pair.both[1] == 5)
}
