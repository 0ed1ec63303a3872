/*
 * Formulas name labels and variables of processes.
 *
 * leaves: violated
 * waits: holds
 * local_grows: violated
 * ends_late: holds
 */
bool gate;

active proctype Walker()
{
	byte steps;
	do
	:: steps < 2 -> steps++
	:: steps == 2 -> break
	od;
wait:	gate;
	steps = 0
}

active proctype Opener()
{
	gate = true
}

ltl leaves { [] (Walker@wait -> <> (Walker:steps == 0)) && <> (Walker:steps == 1) && [] (Walker:steps != 2) }
ltl waits { (!Walker@wait) U (Walker:steps == 2) }
ltl local_grows { [] (Walker:steps < 2) }
ltl ends_late { [] (Walker@wait -> Walker:steps == 2) }
