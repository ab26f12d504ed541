// Calls functions when a signal aborts, through one listener for each signal: many requests of one run share its signal.

const callsOf = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `call` once when `signal` aborts; the result withdraws it. Does nothing if the signal has aborted already. */
export function whenAborted(signal: AbortSignal, call: () => void): () => void {
  if (signal.aborted) return () => {};
  const calls = callsOf.get(signal) ?? firstCalls(signal);
  calls.add(call);
  return () => {
    if (!calls.delete(call) || calls.size > 0 || signal.aborted) return;
    signal.removeEventListener('abort', runCalls);
    callsOf.delete(signal);
  };
}

function firstCalls(signal: AbortSignal): Set<() => void> {
  const calls = new Set<() => void>();
  callsOf.set(signal, calls);
  signal.addEventListener('abort', runCalls, { once: true });
  return calls;
}

/** A call that fails does not keep the others from running, as with listeners. */
function runCalls(this: AbortSignal): void {
  const calls = callsOf.get(this) ?? new Set();
  callsOf.delete(this);
  for (const call of calls) {
    calls.delete(call);
    try {
      call();
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
