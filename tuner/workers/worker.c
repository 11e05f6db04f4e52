#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"

/* The terminal sends Ctrl-C to the whole process group; the parent decides what it means. */
static void child(worker *w, int fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) { /* the parent died before prctl */
    _exit(1);
  }
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
  w->run(fd, w->setting);
  _exit(0);
}

int worker_start(worker *w, err *e) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
    return err_set(e, ERR_IO, "cannot start a worker process: %s", strerror(errno));
  }
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) {
    int saved = errno;
    close(pair[0]);
    close(pair[1]);
    return err_set(e, ERR_IO, "cannot start a worker process: %s", strerror(saved));
  }
  if (!pid) {
    close(pair[0]);
    child(w, pair[1], parent);
  }
  close(pair[1]);
  w->pid = pid;
  w->fd = pair[0];
  w->busy = false;
  return 0;
}

static void describe(int status, str *how) {
  if (WIFSIGNALED(status)) {
    str_addf(how, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    str_addf(how, "exit status %d", WEXITSTATUS(status));
  }
}

static void collect(worker *w, str *how) {
  int status = 0;
  close(w->fd);
  while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (how) {
    describe(status, how);
  }
  w->pid = 0;
  w->fd = -1;
  w->busy = false;
}

void worker_stop(worker *w) {
  if (w->pid) {
    kill(w->pid, SIGKILL);
    collect(w, NULL);
  }
}

int worker_ask(worker *w, const str *request, err *e) {
  TRY(wire_send(w->fd, request, e));
  w->busy = true;
  w->since = now_sec();
  return 0;
}

int worker_answer(worker *w, str *answer, str *how, err *e) {
  err broken = {0};
  if (!wire_receive(w->fd, answer, &broken)) {
    w->busy = false;
    return 0;
  }
  kill(w->pid, SIGKILL); /* after a truncated frame the stream is out of step */
  collect(w, how);
  return err_set(e, ERR_NOTFOUND, "a worker process died: %s", str_text(how));
}
