/*
 * The same with a count of retries: the label is not passed for ever. What it ends in is no such label.
 *
 * acceptance: holds
 */
bool line;
byte tries;

active proctype Caller()
{
	do
	:: line -> break
	:: tries == 3 -> break
	:: !line && tries < 3 ->
accept_retry:
	   tries++
	od
}

active proctype Callee()
{
	line = true
}
