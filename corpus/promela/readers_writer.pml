/* expect: assertion
 */
/* Readers and a writer; the writer looks before it locks. */
byte readers; bool writing;

active [2] proctype Reader() { atomic { !writing -> readers++ }; assert(!writing); readers-- }
active proctype Writer() { readers == 0; writing = true; assert(readers == 0); writing = false }
