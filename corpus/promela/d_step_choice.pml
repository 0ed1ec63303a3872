/* expect: holds
 */
/* Within a d_step the first option that can be taken is taken. */
byte x;

init {
	d_step { if :: x == 0 -> x = 1 :: true -> x = 2 fi; do :: x < 5 -> x++ :: else -> break od };
	assert(x == 5)
}
