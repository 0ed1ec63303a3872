/* expect: holds
 */
/* unless with else, timeout, atomic and nested escapes. */
byte x, y; chan c = [1] of { byte };
active proctype P() {
	do
	:: { if :: x == 0 -> x = 1 :: else -> x = 2; x = 3 fi; y = 1 } unless { atomic { y == 2 -> y = 3 } }
	:: { { c?x; x = 0 } unless { timeout -> x = 4 } } unless { y == 3 -> break }
	:: x >= 3 -> break
	od
}
active proctype Q() { do :: c!0 :: y = 2 :: timeout -> break :: y == 3 -> break od }
