// Data of one view: read when the view opens and when its inputs change; the old data is shown meanwhile.
import { useEffect, useState } from 'preact/hooks';
import { reasonOf } from '../data/api.ts';
import { generation } from '../data/store.ts';

export interface Load<T> {
  readonly data?: T;
  readonly error?: string;
  readonly isLoading: boolean;
  readonly again: () => void;
}

export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Load<T> {
  const [state, setState] = useState<{ readonly data?: T; readonly error?: string; readonly isLoading: boolean }>({
    isLoading: true,
  });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    read(stop.signal).then(
      (data) => stop.signal.aborted || setState({ data, isLoading: false }),
      (error: unknown) =>
        stop.signal.aborted || setState((before) => ({ ...before, error: reasonOf(error), isLoading: false })),
    );
    return () => stop.abort();
  }, [...inputs, attempt, generation.value]);
  return { ...state, again: () => setAttempt(attempt + 1) };
}
