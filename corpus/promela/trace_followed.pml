/* expect: holds
 */
/* A trace names the order of the messages on two channels; what it does not name, it does not see. */
mtype = { ask, give, stop };
chan to = [1] of { mtype, byte };
chan from = [1] of { mtype };
chan unseen = [1] of { byte };
byte zero;

trace {
	do
	:: to!ask,_; to?ask,_; from!give; from?give
	:: to!stop,0; break
	od;
	to?stop,eval(zero)
}

active proctype Client() {
	byte n;
	do
	:: n < 2 -> to!ask,n; from?give; n++; unseen!n; unseen?n
	:: n == 2 -> to!stop,0; break
	od
}

active proctype Server() {
	byte n;
	do
	:: to?ask,n -> from!give
	:: to?stop,_ -> break
	od
}
