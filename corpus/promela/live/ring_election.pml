/*
 * A leader on a ring of three: one is chosen in the end, and never two.
 *
 * chosen: holds
 * stays: holds
 * single: holds
 * first: violated
 */
#define N 3
chan link[N] = [N] of { byte };
byte leaders, leader;

proctype Node(byte self; byte number)
{
	byte got;
	link[(self + 1) % N]!number;
	do
	:: link[self]?got ->
	   if
	   :: got > number -> link[(self + 1) % N]!got
	   :: got < number
	   :: got == number -> atomic { leaders++; leader = number }; break
	   fi
	:: leaders > 0 -> break
	od
}

init
{
	atomic { run Node(0, 2); run Node(1, 3); run Node(2, 1) }
}

ltl chosen { eventually (leaders == 1) }
ltl stays { <>[] (leader == 3) }
ltl single { [] (leaders <= 1) }
ltl first { (leaders == 0) U (leader == 2) }
