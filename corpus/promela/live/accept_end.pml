/*
 * An execution that ends at an accept label stays there.
 *
 * acceptance: violated
 */
bool go;

active proctype Waiter()
{
end:
accept:
	go
}
