/*
 * A claim by hand whose accepting cycle nothing follows: the counter always comes back.
 *
 * :never:: holds
 */
byte n;

active proctype Counter()
{
	do
	:: n < 4 -> n++
	:: n == 4 -> n = 0
	od
}

never
{
	do
	:: true
	:: n == 2 -> break
	od;
accept:
	do
	:: n > 0
	od
}
