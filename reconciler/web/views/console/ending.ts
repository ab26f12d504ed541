// Why a terminal ended, in words: its program exited, it failed, or the connection broke. Pure.

export interface Ending {
  readonly title: string;
  readonly message: string;
  readonly isBad: boolean;
}

export interface Closed {
  /** The last text frame: {"exit": 0} or {"error": "..."}. */
  readonly lastText: string;
  /** The code of the websocket; 1000: its other end closed it on purpose. */
  readonly code: number;
  readonly reason: string;
  readonly wasOpen: boolean;
}

export function endingOf({ lastText, code, reason, wasOpen }: Closed): Ending {
  const { exit, error } = parsed(lastText);
  if (exit !== undefined) return { title: 'The shell has ended', message: `Its exit code is ${exit}.`, isBad: false };
  if (error !== undefined) return { title: 'The console failed', message: error, isBad: true };
  if (code === 1000) return { title: 'The console has ended', message: 'The container closed it.', isBad: false };
  const why = wasOpen ? 'The connection was closed.' : 'The server refused the console, or its host does not answer.';
  return { title: 'The console has ended', message: reason || why, isBad: true };
}

function parsed(text: string): { readonly exit?: number; readonly error?: string } {
  try {
    const { exit, error } = JSON.parse(text) as { readonly exit?: unknown; readonly error?: unknown };
    return { ...(typeof exit === 'number' && { exit }), ...(typeof error === 'string' && { error }) };
  } catch {
    return {};
  }
}
