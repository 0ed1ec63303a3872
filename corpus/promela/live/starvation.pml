/*
 * A semaphore excludes, and starves: one process may take it for ever.
 *
 * excludes: holds
 * served: violated
 * some: violated
 */
bool taken, in[2];

active [2] proctype P()
{
	do
	:: atomic { !taken -> taken = true };
	   in[_pid] = true;
	   in[_pid] = false;
	   taken = false
	od
}

ltl excludes { [] !(in[0] && in[1]) }
ltl served { []<> in[0] }
ltl some { []<> (in[0] || in[1]) && []<> in[1] }
