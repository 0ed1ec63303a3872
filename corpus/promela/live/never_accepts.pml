/*
 * A claim by hand: it accepts the executions in which a request is never granted.
 *
 * :never:: violated
 */
bool request, granted;

active proctype Client()
{
	do
	:: request = true; granted -> request = false
	od
}

active proctype Server()
{
	do
	:: request -> granted = true
	:: !request -> granted = false
	od
}

never
{
	do
	:: true
	:: request && !granted -> break
	od;
accept:
	do
	:: !granted
	od
}
