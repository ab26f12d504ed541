// The graph as an element that also works with the keyboard and a screen reader; the scene draws it.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Entry } from '../data/entry.ts';
import { Icon } from '../parts/icons.tsx';
import { shownTheme } from '../data/theme.ts';
import { centred, zoomed } from './camera.ts';
import { startGestures } from './gestures.ts';
import { node, type Layout } from './layout.ts';
import { facesOf, type Graph } from './model.ts';
import { Scene } from './scene.ts';

export interface GraphCanvasProps {
  readonly graph: Graph;
  readonly entries: readonly Entry[];
  /** Filter and grouping as text; the camera is reset when it changes. */
  readonly view: string;
  readonly chosenKey: string | undefined;
  readonly open: (shown: ShownGraph, id: number) => void;
}

/** A graph with the entries that its members point to. */
export interface ShownGraph {
  readonly graph: Graph;
  readonly entries: readonly Entry[];
}

export function GraphCanvas({ graph: wanted, entries: newest, view, chosenKey, open }: GraphCanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const edgeCanvas = useRef<HTMLCanvasElement>(null);
  const nodeCanvas = useRef<HTMLCanvasElement>(null);
  const [scene, setScene] = useState<Scene>();
  const laidOut = useLayout({ graph: wanted, entries: newest, view });
  const graph = laidOut?.graph ?? wanted;
  // The places of objects in the newest entries are those of the newest graph.
  const entries = laidOut === undefined || graph === wanted ? newest : laidOut.entries;
  /** The key of the chosen node: its number changes when nodes come and go. */
  const [chosenNode, setChosenNode] = useState<string>();
  const chosen = numberOf(graph, chosenNode);
  // A drag goes on while events arrive.
  const shown = useRef<ShownGraph>({ graph, entries });
  shown.current = { graph, entries };
  const openedView = useRef<string | undefined>(undefined);

  useEffect(() => {
    const edges = edgeCanvas.current?.getContext('2d');
    const nodes = nodeCanvas.current?.getContext('2d');
    const element = box.current;
    if (!edges || !nodes || !element) return;
    const made = new Scene(edges, nodes);
    const measure = (): void => made.resize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    setScene(made);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.end();
    };
  }, []);
  useEffect(() => {
    if (!laidOut || !scene) return;
    scene.show(graph, laidOut.layout, facesOf(graph, entries));
    if (openedView.current !== laidOut.view) scene.open();
    openedView.current = laidOut.view;
    setChosenNode((node) => (numberOf(graph, node) === undefined ? nodeOf(graph, entries, chosenKey) : node));
  }, [laidOut, scene]);
  useEffect(() => {
    if (laidOut) scene?.takeFaces(facesOf(graph, entries));
  }, [entries]);
  useEffect(() => scene?.choose(chosen), [chosen, scene, laidOut]);
  useEffect(() => scene?.readColours(), [shownTheme.value, scene]);
  useEffect(() => {
    if (!box.current || !scene) return;
    return startGestures(box.current, scene, (id) => {
      setChosenNode(id === undefined ? undefined : shown.current.graph.keys[id]);
      if (id !== undefined) open(shown.current, id);
    });
  }, [scene]);

  const zoom = (factor: number): void => {
    if (scene) scene.look(zoomed(scene.camera, factor, { x: scene.view.width / 2, y: scene.view.height / 2 }));
  };
  const moveTo = (id: number | undefined): void => {
    if (id === undefined || !scene || !laidOut) return;
    setChosenNode(graph.keys[id]);
    const { x, y } = laidOut.layout;
    const middle = { x: (x[id] ?? 0) + node.width / 2, y: (y[id] ?? 0) + node.height / 2 };
    scene.look(centred({ ...scene.camera, scale: Math.max(scene.camera.scale, 0.6) }, scene.view, middle.x, middle.y));
  };
  const openChosen = (): void => {
    if (chosen !== undefined) open(shown.current, chosen);
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => moveTo(chosen === undefined ? first(graph) : graph.dependencies(chosen)[0]),
    ArrowRight: () => moveTo(chosen === undefined ? first(graph) : graph.dependents(chosen)[0]),
    ArrowDown: () => moveTo(chosen === undefined ? first(graph) : neighbourInColumn(laidOut?.layout, chosen, 1)),
    ArrowUp: () => moveTo(chosen === undefined ? first(graph) : neighbourInColumn(laidOut?.layout, chosen, -1)),
    Enter: openChosen,
    '+': () => zoom(1.3),
    '-': () => zoom(1 / 1.3),
    '0': () => scene?.fit(),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const run = keys[event.key];
    if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    run();
  };
  return (
    <div class="graph" aria-busy={graph !== wanted || laidOut === undefined}>
      <div
        ref={box}
        class="graph-box"
        role="application"
        tabIndex={0}
        aria-label={`Graph of ${graph.keys.length} ${plural[graph.grouping]}. Arrow keys follow dependencies, Enter opens one.`}
        onKeyDown={onKeyDown}
      >
        <canvas ref={edgeCanvas} />
        <canvas ref={nodeCanvas} />
      </div>
      <p class="hidden graph-says" role="status">
        {chosen === undefined ? '' : describe(graph, entries, chosen)}
      </p>
      <div class="graph-tools">
        <button class="button icon-only" aria-label="Closer" title="Closer (+)" onClick={() => zoom(1.3)}>
          <Icon name="plus" />
        </button>
        <button class="button icon-only" aria-label="Farther" title="Farther (-)" onClick={() => zoom(1 / 1.3)}>
          <Icon name="minus" />
        </button>
        <button
          class="button icon-only"
          aria-label="Show everything"
          title="Show everything (0)"
          onClick={() => scene?.fit()}
        >
          <Icon name="fit" />
        </button>
      </div>
    </div>
  );
}

const plural = {
  object: 'objects',
  lane: 'objects',
  name: 'names',
  kind: 'kinds',
  host: 'hosts',
  status: 'statuses',
} as const;

/** The key of the node that has the object. */
function nodeOf(graph: Graph, entries: readonly Entry[], object: string | undefined): string | undefined {
  const at = graph.members.findIndex((places) => places.some((place) => entries[place]?.key === object));
  return object === undefined ? undefined : graph.keys[at];
}

function numberOf(graph: Graph, node: string | undefined): number | undefined {
  const id = node === undefined ? -1 : graph.keys.indexOf(node);
  return id < 0 ? undefined : id;
}

const first = (graph: Graph): number | undefined => (graph.keys.length === 0 ? undefined : 0);

function describe(graph: Graph, entries: readonly Entry[], id: number): string {
  const { statuses, notes } = facesOf(graph, entries);
  const object = entries[graph.members[id]?.[0] ?? -1]?.object;
  const who = graph.grouping === 'object' ? `${object?.address} on ${object?.host}` : `${graph.keys[id]}, ${notes[id]}`;
  const needs = graph.dependencies(id).length;
  const neededBy = graph.dependents(id).length;
  return `${who}, ${statuses[id]}, needs ${needs}, needed by ${neededBy}`;
}

/** The next node above or below in the same column. */
function neighbourInColumn(layout: Layout | undefined, from: number, direction: 1 | -1): number | undefined {
  if (!layout) return undefined;
  const { x, y } = layout;
  const ahead = (id: number): number => ((y[id] ?? 0) - (y[from] ?? 0)) * direction;
  let best: number | undefined;
  for (let id = 0; id < x.length; id++) {
    if (x[id] !== x[from] || ahead(id) <= 0) continue;
    if (best === undefined || ahead(id) < ahead(best)) best = id;
  }
  return best;
}

interface Asked extends ShownGraph {
  readonly view: string;
}

interface LaidOut extends Asked {
  readonly layout: Layout;
}

/** The last graph that was laid out, by a worker. It lays out one at a time and then the newest, so that a storm of events delays the picture only. */
function useLayout(asked: Asked): LaidOut | undefined {
  const worker = useRef<Worker | null>(null);
  const working = useRef<Asked | undefined>(undefined);
  const waiting = useRef<Asked | undefined>(undefined);
  const [laidOut, setLaidOut] = useState<LaidOut>();
  const begin = (next: Asked | undefined): void => {
    working.current = next;
    waiting.current = undefined;
    if (next !== undefined) worker.current?.postMessage(next.graph.input);
  };
  useEffect(() => {
    const made = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
    worker.current = made;
    made.addEventListener('message', ({ data: layout }: MessageEvent<Layout>) => {
      if (working.current !== undefined) setLaidOut({ ...working.current, layout });
      begin(waiting.current);
    });
    return () => made.terminate();
  }, []);
  useEffect(() => {
    if (working.current === undefined) begin(asked);
    else waiting.current = asked;
  }, [asked.graph]);
  return laidOut;
}
