/*
 * Three philosophers who put a fork back when the other is taken: no deadlock, but all may try for ever.
 *
 * progress: violated
 * eats: violated
 * apart: holds
 */
#define N 3
bool fork[N], eating[N];

active [N] proctype Philosopher()
{
	byte other = (_pid + 1) % N;
	do
	:: atomic { !fork[_pid] -> fork[_pid] = true };
	   if
	   :: atomic { !fork[other] -> fork[other] = true };
	      eating[_pid] = true;
progress:
	      eating[_pid] = false;
	      fork[other] = false
	   :: fork[other] -> skip
	   fi;
	   fork[_pid] = false
	od
}

ltl eats { <> (eating[0] || eating[1] || eating[2]) }
ltl apart { [] (eating[0] -> !eating[1] && !eating[2]) }
