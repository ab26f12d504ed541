// Data of one view: read when the view opens and when its inputs change; the old data is shown meanwhile, and no longer when that fails.
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
  const [state, setState] = useState<Loaded<T>>({ isLoading: true, inputs });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    read(stop.signal).then(
      (data) => stop.signal.aborted || setState({ data, isLoading: false, inputs }),
      (error: unknown) => stop.signal.aborted || setState((before) => failed(before, inputs, reasonOf(error))),
    );
    return () => stop.abort();
  }, [...inputs, attempt, generation.value]);
  return { ...state, again: () => setAttempt(attempt + 1) };
}

interface Loaded<T> {
  readonly data?: T;
  readonly error?: string;
  readonly isLoading: boolean;
  /** The inputs that the data is of. */
  readonly inputs: readonly unknown[];
}

/** Data of other inputs would pass for what was asked for. */
function failed<T>({ data, ...before }: Loaded<T>, inputs: readonly unknown[], error: string): Loaded<T> {
  const isSame = before.inputs.every((input, at) => input === inputs[at]);
  return { ...(isSame && data !== undefined && { data }), error, isLoading: false, inputs: before.inputs };
}
