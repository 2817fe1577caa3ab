/* A library that the test of code addresses loads while it runs. */
int answer(void) { return ANSWER; }
