// Events as an async iterable with a bounded buffer; the connection behind it is event-socket.ts.
import type { EventSocket, EventSocketHandlers } from './event-socket.ts';
import type { Event } from './event-types.ts';

export interface EventsOptions {
  /** Max buffered events for a slow reader; default 1024. Beyond it the oldest are dropped and `onGap` is called. */
  readonly bufferSize?: number;
  /** Events were missed: re-read the watched objects. */
  readonly onGap?: (reason: 'overflow' | 'reconnected' | 'disconnected') => void;
  /** The first connection is open: later events will arrive. */
  readonly onReady?: () => void;
}

/** Ends without an error when `signal` aborts. */
export async function* eventStream(
  open: (handlers: EventSocketHandlers) => EventSocket,
  options: EventsOptions,
  signal: AbortSignal,
): AsyncGenerator<Event, void, void> {
  const limit = options.bufferSize ?? 1024;
  const buffer: Event[] = [];
  let wake = (): void => {};
  const socket = open({
    onEvent: (event) => {
      buffer.push(event);
      if (buffer.length > limit) {
        buffer.shift();
        options.onGap?.('overflow');
      }
      wake();
    },
    onOpen: (again) => (again ? options.onGap?.('reconnected') : options.onReady?.()),
    onDown: () => options.onGap?.('disconnected'),
  });
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      const event = buffer.shift();
      if (event !== undefined) {
        yield event;
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    socket.close();
  }
}
