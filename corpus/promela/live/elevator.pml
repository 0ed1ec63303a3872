/*
 * An elevator of three floors that goes up and down, and one that may stay below.
 *
 * visits: holds
 * lazy_visits: violated
 * moves: holds
 * doors: holds
 */
byte floor, lazy;
bool up = true, open;

active proctype Elevator()
{
	do
	:: atomic { open = true };
	   open = false;
	   if
	   :: up && floor < 2 -> floor++
	   :: up && floor == 2 -> up = false
	   :: !up && floor > 0 -> floor--
	   :: !up && floor == 0 -> up = true
	   fi;
	   if
	   :: lazy == 0 -> lazy = 1
	   :: lazy == 1 -> lazy = 0
	   :: lazy == 1 -> lazy = 2
	   :: lazy == 2 -> lazy = 0
	   fi
	od
}

ltl visits { []<> (floor == 2) && []<> (floor == 0) }
ltl lazy_visits { []<> (lazy == 2) }
ltl moves { [] (floor == 1 -> <> (floor != 1)) }
ltl doors { [] (open -> (floor == 0 || floor == 1 || floor == 2) U !open) }
