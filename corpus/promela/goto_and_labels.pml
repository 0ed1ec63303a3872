/* expect: holds
 */
/* Jumps out of loops and into them, and a labelled end. */
byte i;

init {
again:	if
	:: i < 3 -> i++; goto again
	:: else -> goto done
	fi;
	assert(false);
done:	do
	:: i > 0 -> i--; if :: i == 1 -> break :: else fi
	:: i == 0 -> goto out
	od;
out:	assert(i == 1)
}
