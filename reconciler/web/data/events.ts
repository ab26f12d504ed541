// The stream of events: opened again after an error with growing pauses, and passed on in batches, one per frame.
import { signal } from '@preact/signals';
import type { ControllerEvent } from '../../controller/contract/index.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline';
export const connection = signal<Connection>('connecting');

const firstPause = 500;
const longestPause = 15_000;
/** More than this wait for a frame only while the page is hidden: then reading everything again is cheaper. */
const longestQueue = 20_000;

export interface EventSink {
  /** All events since the last frame. */
  readonly take: (events: readonly ControllerEvent[]) => void;
  /** Events may be missing: read everything again. */
  readonly reset: () => void;
  /** The stream ended. The browser does not say whether the session has ended, too. */
  readonly lost: () => void;
}

export function followEvents(sink: EventSink): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = firstPause;
  let wasLost = false;
  let queue: ControllerEvent[] = [];
  let frame: number | undefined;

  const flush = (): void => {
    frame = undefined;
    const events = queue;
    queue = [];
    if (events.some(({ type }) => type === 'reset')) sink.reset();
    else sink.take(events);
  };
  const onMessage = (message: MessageEvent<string>): void => {
    const event = parse(message.data);
    if (event === undefined) return;
    if (queue.length >= longestQueue) queue = [{ type: 'reset', reason: 'The page was hidden.' }];
    queue.push(event);
    frame ??= requestAnimationFrame(flush);
  };
  const open = (): void => {
    source = new EventSource(new URL('./api/v1/events', document.baseURI));
    source.addEventListener('open', () => {
      connection.value = 'live';
      pause = firstPause;
      if (wasLost) sink.reset();
      wasLost = false;
    });
    source.addEventListener('message', onMessage);
    source.addEventListener('error', () => {
      source?.close();
      wasLost = true;
      sink.lost();
      connection.value = navigator.onLine ? 'reconnecting' : 'offline';
      timer = setTimeout(open, pause * (0.75 + Math.random() / 2));
      pause = Math.min(pause * 2, longestPause);
    });
  };
  const again = (): void => {
    if (connection.value === 'live') return;
    clearTimeout(timer);
    source?.close();
    wasLost = true;
    pause = firstPause;
    open();
  };
  const offline = (): void => void (connection.value = 'offline');
  window.addEventListener('online', again);
  window.addEventListener('offline', offline);
  connection.value = 'connecting';
  open();
  return () => {
    window.removeEventListener('online', again);
    window.removeEventListener('offline', offline);
    clearTimeout(timer);
    if (frame !== undefined) cancelAnimationFrame(frame);
    source?.close();
  };
}

function parse(data: string): ControllerEvent | undefined {
  try {
    return JSON.parse(data) as ControllerEvent;
  } catch {
    return undefined;
  }
}
