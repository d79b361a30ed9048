/* Loaded into a process: its clock is set a day ahead and a day back, over and over, or its steady clock jumps ahead once.
 * STEPPED names the clock; what asks the kernel by other ways is not told. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DAY 86400
#define HALF 500000000L

static struct timespec began;

static void ask(clockid_t clock, struct timespec *now) { syscall(SYS_clock_gettime, clock, now); }

__attribute__((constructor)) static void begin(void) { ask(CLOCK_MONOTONIC, &began); }

static long passed(void) {
    struct timespec now;
    ask(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec;
}

static long step(const char *which) {
    const char *stepped = getenv("STEPPED");
    if (!stepped || strcmp(stepped, which))
        return 0;
    if (!strcmp(which, "steady"))
        return passed() > HALF ? DAY : 0;
    return passed() / (HALF / 4) % 2 ? DAY : -DAY;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    ask(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        now->tv_sec += step("set");
    if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME)
        now->tv_sec += step("steady");
    return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into)
        *into = now.tv_sec;
    return now.tv_sec;
}
