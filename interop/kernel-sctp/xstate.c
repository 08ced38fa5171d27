/* Preloaded into user-mode-linux, so that it starts where the processor has AMX.
 *
 * The kernel takes the extended registers of a traced process (NT_X86_XSTATE) only in their full size, which with AMX
 * is 11 KiB; user-mode-linux has room for what there was before. What it hands over is filled up with zeros, which
 * stand for tiles that nobody uses. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { ROOM = 64 * 1024 };

typedef long (*trace_call)(enum __ptrace_request, pid_t, void *, void *);

static long set_all(trace_call trace, pid_t pid, void *type, const struct iovec *given) {
  static char octets[ROOM];
  struct iovec all = {octets, ROOM};
  if (given->iov_len > ROOM || trace(PTRACE_GETREGSET, pid, type, &all) != 0)
    return trace(PTRACE_SETREGSET, pid, type, (void *)given);
  memset(octets, 0, ROOM);
  memcpy(octets, given->iov_base, given->iov_len);
  return trace(PTRACE_SETREGSET, pid, type, &all);
}

long ptrace(enum __ptrace_request request, ...) {
  va_list arguments;
  va_start(arguments, request);
  pid_t pid = va_arg(arguments, pid_t);
  void *address = va_arg(arguments, void *), *data = va_arg(arguments, void *);
  va_end(arguments);
  trace_call trace = (trace_call)dlsym(RTLD_NEXT, "ptrace");
  if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE)
    return set_all(trace, pid, address, data);
  return trace(request, pid, address, data);
}
