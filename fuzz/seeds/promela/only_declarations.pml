active proctype P() { byte x }
