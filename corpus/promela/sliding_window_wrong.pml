/* expect: assertion
 */
/* A window as large as the numbers: an old message is taken for a new one. */
#define M 2
chan down = [2] of { byte, byte };
chan up = [2] of { byte };

active proctype Sender() {
	byte base, sent;
	do
	:: sent < base + 2 && base < 4 -> down!(sent % M), sent; sent++
	:: up?_ -> base++
	:: sent > base && base < 4 -> down!(base % M), base
	:: base >= 4 -> break
	od
}

active proctype Receiver() {
	byte number, value, next;
end:	do
	:: down?number, value ->
		if
		:: number == next % M -> assert(value == next); next++; up!number
		:: else -> skip
		fi
	od
}
