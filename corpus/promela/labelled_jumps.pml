/* expect: holds
 */
/* A goto or break with a label that has a meaning is a place where control rests; with any other label it is passed through. */
byte x;

active proctype P() {
again:
	x = 1;
	do
	:: x == 1 ->
		if
		:: x == 1 -> goto done
		:: x > 0 -> progress: goto again
		:: x > 0 -> x = 2; accept: goto again
		:: x > 0 -> plain: goto again
		:: x > 0 -> x = 3; goto passed
		fi
	:: x == 1 -> endless: break
	od;
passed:
	goto done;
done:
	skip
}
