/*
 * Two caches of a line, each invalid, shared or owned: one owner at most, and ownership may never come.
 *
 * coherent: holds
 * owned_again: violated
 * invalidated: holds
 * again: holds
 */
mtype = { invalid, shared, owned };
mtype line[2] = invalid;

active [2] proctype Cache()
{
	do
	:: d_step { line[_pid] == invalid && line[1 - _pid] != owned -> line[_pid] = shared }
	:: d_step { line[_pid] == invalid && line[1 - _pid] == owned -> line[1 - _pid] = shared; line[_pid] = shared }
	:: d_step { line[_pid] == shared -> line[1 - _pid] = invalid; line[_pid] = owned }
	od
}

ltl coherent { [] !(line[0] == owned && line[1] != invalid) }
ltl owned_again { []<> (line[0] == owned) }
ltl invalidated { [] (line[0] == owned -> (line[1] == invalid W line[0] != owned)) }
ltl again { [] (line[0] == owned -> <> (line[0] != owned)) -> []<> (line[1] == shared) }
