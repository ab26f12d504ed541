// Mouse, touch and wheel on the graph: drag to move, wheel or two fingers to zoom, a tap to choose.
import { moved, zoomed } from './camera.ts';
import type { Scene } from './scene.ts';

const tapSlack = 5;

interface Point {
  readonly x: number;
  readonly y: number;
}

const distance = (a: Point, b: Point): number => Math.max(1, Math.hypot(a.x - b.x, a.y - b.y));

export function startGestures(
  element: HTMLElement,
  scene: Scene,
  tapped: (id: number | undefined) => void,
): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const fingers = new Map<number, Point>();
  let travelled = 0;
  const pointOf = (event: MouseEvent): Point => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    if (fingers.size === 0) travelled = 0;
    fingers.set(event.pointerId, pointOf(event));
    element.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent): void => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const point = pointOf(event);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    travelled += Math.hypot(point.x - before.x, point.y - before.y);
    if (other) {
      const middle = { x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 };
      scene.look(zoomed(scene.camera, distance(point, other) / distance(before, other), middle));
    } else if (travelled > tapSlack) scene.look(moved(scene.camera, point.x - before.x, point.y - before.y));
    fingers.set(event.pointerId, point);
  };
  const up = (event: PointerEvent): void => {
    if (!fingers.delete(event.pointerId) || travelled > tapSlack || event.type === 'pointercancel') return;
    const { x, y } = pointOf(event);
    tapped(scene.nodeAt(x, y));
  };
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    scene.look(zoomed(scene.camera, Math.exp(-event.deltaY / 400), pointOf(event)));
  };
  element.addEventListener('pointerdown', down, { signal });
  element.addEventListener('pointermove', move, { signal });
  element.addEventListener('pointerup', up, { signal });
  element.addEventListener('pointercancel', up, { signal });
  element.addEventListener('wheel', wheel, { passive: false, signal });
  return () => stop.abort();
}
