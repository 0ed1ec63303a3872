/* expect: holds
 */
/* Macros with arguments, conditional text, and inlines with parameters. */
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define TWICE(x) x; x
#ifdef NEVER_DEFINED
#error not this one
#else
#define STEP 2
#endif
byte x, y;

inline add(target, amount) { byte t = amount; target = target + t }

init {
	add(x, STEP); TWICE(add(y, 1));
	assert(MAX(x, y) == 2 && x == y)
}
