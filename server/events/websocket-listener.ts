// A websocket that listens to events: it ends when it answers no ping, or reads slower than events come.
import type { WebSocket } from 'ws';

export interface ListenerEnds {
  /** Called before each ping. */
  readonly onPing?: () => void;
  readonly onClose: () => void;
}

const pingEveryMs = 20_000;

/** What the peer sends is ignored, but for its answers to pings. */
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

/** A listener with a longer backlog is ended: it sees the close, and reads everything again. */
export function sendEvent(peer: WebSocket, text: string, maxBacklogBytes: number): void {
  if (peer.bufferedAmount > maxBacklogBytes) peer.terminate();
  else peer.send(text);
}
