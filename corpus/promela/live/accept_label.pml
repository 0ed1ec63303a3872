/*
 * An accept label marks what must not go on for ever: retrying. Without a bound on it, it may.
 *
 * acceptance: violated
 * progress: violated
 */
bool line;

active proctype Caller()
{
	do
	:: line -> break
	:: !line ->
accept_retry:
	   skip
	od
}

active proctype Callee()
{
	line = true
}
