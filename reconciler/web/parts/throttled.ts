// Limits how often a value changes, so that data that is read again after each change has time to arrive.
import { useEffect, useRef, useState } from 'preact/hooks';

export function useThrottled<T>(value: T, everyMs: number): T {
  const [taken, setTaken] = useState(value);
  const newest = useRef(value);
  newest.current = value;
  useEffect(() => {
    const timer = setInterval(() => setTaken(newest.current), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return taken;
}
