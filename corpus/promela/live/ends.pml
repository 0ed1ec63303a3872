/*
 * An execution that ends goes on as it is: what has come stays, what has not never comes.
 *
 * comes: holds
 * stays: holds
 * both: violated
 * returns: violated
 */
byte n, m;

active proctype P()
{
	n = 1
}

active proctype Q()
{
	if
	:: m = 1
	:: m = 2
	fi;
	n = 1
}

ltl comes { <> (n == 1) }
ltl stays { <>[] (n == 1 && m > 0) }
ltl both { <> (m == 1) && <> (m == 2) || <>[] (m == 1) }
ltl returns { [] (n == 1 -> <> (n == 0)) }
