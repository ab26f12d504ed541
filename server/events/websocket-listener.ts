// A websocket that listens to events: closed if it answers no ping, or reads too slowly.
import type { WebSocket } from 'ws';

export interface ListenerEnds {
  /** Called before each ping. */
  readonly onPing?: () => void;
  readonly onClose: () => void;
}

const pingEveryMs = 20_000;

/** Ignores all input of the peer except answers to pings. */
export function watchListener(peer: WebSocket, { onPing, onClose }: ListenerEnds): void {
  let answered = true;
  const ping = setInterval(() => {
    if (!answered) peer.terminate();
    else onPing?.();
    answered = false;
    if (peer.readyState === peer.OPEN) peer.ping('keepalive');
  }, pingEveryMs);
  peer.on('pong', () => {
    answered = true;
  });
  peer.on('error', () => peer.terminate());
  peer.on('close', () => {
    clearInterval(ping);
    onClose();
  });
}

/** Closes a listener with a longer backlog: it notices, and re-reads everything. */
export function sendEvent(peer: WebSocket, text: string, maxBacklogBytes: number): void {
  if (peer.bufferedAmount > maxBacklogBytes) peer.terminate();
  else peer.send(text);
}
