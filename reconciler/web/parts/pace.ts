// Slows work down that is too expensive for every batch of events.
import { useEffect, useRef, useState } from 'preact/hooks';

/** A number that grows after the value has changed, once in `ms` at most. */
export function usePace(value: unknown, ms: number): number {
  const [beat, setBeat] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const seen = useRef(value);
  useEffect(() => {
    if (seen.current === value) return;
    seen.current = value;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      setBeat((before) => before + 1);
    }, ms);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return beat;
}
