/*
 * An alternating bit over a link that may lose every message: what is delivered is in order, and may be nothing.
 *
 * delivered: violated
 * ordered: holds
 * progress: violated
 */
chan data = [1] of { bit };
chan ack = [1] of { bit };
byte got, sent;

active proctype Sender()
{
	bit now, seen;
	do
	:: nfull(data) -> data!now
	:: ack?seen ->
	   if
	   :: seen == now -> now = 1 - now; sent = 1 - sent
	   :: else
	   fi
	od
}

active proctype Loser()
{
	do
	:: data?_
	:: ack?_
	od
}

active proctype Receiver()
{
	bit wanted, next;
	do
	:: data?next ->
	   if
	   :: next == wanted ->
progress:     got = 1 - got;
	      wanted = 1 - wanted
	   :: else
	   fi;
	   ack!next
	od
}

ltl delivered { []<> (got == 1) }
ltl ordered { [] (sent == 1 -> <> true) && ((sent == 0) W (got == 1)) }
