proctype P(){skip}
init { run P(1) }
