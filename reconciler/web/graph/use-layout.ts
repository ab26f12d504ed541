// The layout of a graph, computed in a worker; undefined until it is done.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Layout } from './layout.ts';
import type { Graph } from './model.ts';

export interface LaidOut {
  readonly graph: Graph;
  readonly layout: Layout;
}

export function useLayout(graph: Graph): LaidOut | undefined {
  const worker = useRef<Worker | null>(null);
  const wanted = useRef<{ readonly graph: Graph; readonly ticket: number } | null>(null);
  const [laidOut, setLaidOut] = useState<LaidOut>();
  useEffect(() => {
    const made = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
    worker.current = made;
    made.addEventListener('message', ({ data }: MessageEvent<Layout & { readonly ticket: number }>) => {
      if (data.ticket === wanted.current?.ticket) setLaidOut({ graph: wanted.current.graph, layout: data });
    });
    return () => made.terminate();
  }, []);
  useEffect(() => {
    const ticket = (wanted.current?.ticket ?? 0) + 1;
    wanted.current = { graph, ticket };
    worker.current?.postMessage({ ...graph.input, ticket });
  }, [graph]);
  return laidOut?.graph === graph ? laidOut : undefined;
}
