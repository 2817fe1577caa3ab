/* Counts how often the drop-in library yields the CPU or sleeps on the main thread, and keeps the longest time for
 * which it asked to sleep. It defines the functions of the C library that the drop-in library yields and sleeps by. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long yields, sleeps, longest_ns;
static long* watched_sleeps;

long counted_yields(void) { return yields; }
long counted_sleeps(void) { return sleeps; }
/* From now on, counts sleeps also in this word, for another process, and finds the longest of them; null ends this. */
void watch_sleeps(long* word) {
  watched_sleeps = word;
  if (word != NULL) longest_ns = 0;
}
long longest_sleep_ns(void) { return longest_ns; }

static int is_counted(const void* caller) {
  Dl_info object;
  return gettid() == getpid() && dladdr(caller, &object) != 0 && strstr(object.dli_fname, "libamity-mpi") != NULL;
}

static void count_sleep(const void* caller, long ns) {
  if (ns == 0 || !is_counted(caller)) return;
  ++sleeps;
  if (watched_sleeps == NULL) return;
  if (ns > longest_ns) longest_ns = ns;
  __atomic_fetch_add(watched_sleeps, 1, __ATOMIC_RELEASE);
}

/* A null limit, and a negative number, is a sleep without an end. */
static long ns_of_time(const struct timespec* limit) {
  return limit == NULL || limit->tv_sec > 0 ? 1000000000 : limit->tv_nsec;
}
static long ns_of_ms(int limit) { return limit < 0 || limit > 1000 ? 1000000000 : limit * 1000000L; }

int sched_yield(void) {
  if (is_counted(__builtin_return_address(0))) ++yields;
  return ((int (*)(void))dlsym(RTLD_NEXT, "sched_yield"))();
}

int nanosleep(const struct timespec* wanted, struct timespec* left) {
  count_sleep(__builtin_return_address(0), ns_of_time(wanted));
  return ((int (*)(const struct timespec*, struct timespec*))dlsym(RTLD_NEXT, "nanosleep"))(wanted, left);
}

int ppoll(struct pollfd* all, nfds_t count, const struct timespec* limit, const sigset_t* mask) {
  count_sleep(__builtin_return_address(0), ns_of_time(limit));
  return ((int (*)(struct pollfd*, nfds_t, const struct timespec*, const sigset_t*))dlsym(RTLD_NEXT, "ppoll"))(
      all, count, limit, mask);
}

int poll(struct pollfd* all, nfds_t count, int limit_ms) {
  count_sleep(__builtin_return_address(0), ns_of_ms(limit_ms));
  return ((int (*)(struct pollfd*, nfds_t, int))dlsym(RTLD_NEXT, "poll"))(all, count, limit_ms);
}

int epoll_wait(int on, struct epoll_event* events, int count, int limit_ms) {
  count_sleep(__builtin_return_address(0), ns_of_ms(limit_ms));
  return ((int (*)(int, struct epoll_event*, int, int))dlsym(RTLD_NEXT, "epoll_wait"))(on, events, count, limit_ms);
}

long syscall(long number, ...) {
  long words[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; ++i) words[i] = va_arg(more, long);
  va_end(more);
  const int operation = (int)words[1] & FUTEX_CMD_MASK;
  if (number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET))
    count_sleep(__builtin_return_address(0), ns_of_time((const struct timespec*)words[3]));
  return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, words[0], words[1], words[2], words[3], words[4],
                                                            words[5]);
}
