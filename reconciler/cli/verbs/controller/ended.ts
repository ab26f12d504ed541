// Waits until a command that serves is told to end.
export const ended = (stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (stop.aborted) resolve();
    else stop.addEventListener('abort', () => resolve(), { once: true });
  });
