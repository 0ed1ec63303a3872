/* expect: holds
 */
/* Sorted sends, random receives, copies, polls, and questions about length. */
chan q = [4] of { byte };

init {
	byte v;
	q!!3; q!!1; q!!2;
	assert(len(q) == 3 && nfull(q) && nempty(q));
	assert(q?[1] && q??[3] && !q?[3]);
	q?<v>; assert(v == 1 && len(q) == 3);
	q??3; q?<eval(1)>; assert(len(q) == 2);
	q?v; assert(v == 1); q?_; assert(empty(q))
}
