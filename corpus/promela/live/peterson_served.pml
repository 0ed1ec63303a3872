/*
 * Peterson's lock: somebody gets in again and again, but a process that asks need not be run.
 *
 * excludes: holds
 * asked: violated
 * progress: holds
 */
bool flag[2], critical[2];
byte turn;

active [2] proctype P()
{
	do
	:: flag[_pid] = true;
	   turn = 1 - _pid;
	   (!flag[1 - _pid] || turn == _pid);
	   critical[_pid] = true;
progress:
	   critical[_pid] = false;
	   flag[_pid] = false
	od
}

ltl excludes { always !(critical[0] && critical[1]) }
ltl asked { [] (flag[0] -> <> critical[0]) }
