// Which part of the picture is visible: offset and scale, within bounds. Pure.
import { node, type Layout } from './layout.ts';

export interface Camera {
  /** The point of the picture at the left upper corner. */
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const smallest = 0.02;
const largest = 2;
const margin = 32;
/** Views below this width cannot show more than a few nodes beside one another. */
const narrow = 600;
/** From this scale on, texts of nodes have at least 11 pixels. */
const readable = 1;

/** Shows everything, but never enlarged. */
export function fitted(picture: Size, view: Size): Camera {
  const room = { width: Math.max(1, view.width - 2 * margin), height: Math.max(1, view.height - 2 * margin) };
  const scale = bounded(
    Math.min(1, room.width / Math.max(1, picture.width), room.height / Math.max(1, picture.height)),
  );
  return { scale, x: (picture.width - view.width / scale) / 2, y: (picture.height - view.height / scale) / 2 };
}

/** Shows everything when its texts are readable then; a narrow view begins at the nodes without dependencies. */
export function opened(layout: Layout, view: Size): Camera {
  const whole = fitted(layout, view);
  if (view.width >= narrow || whole.scale >= readable) return whole;
  const roots = [...layout.y].filter((_, id) => layout.x[id] === 0);
  const top = Math.min(...roots);
  const height = Math.max(...roots) + node.height - top;
  const room = view.height / readable;
  const isTall = height > room - (2 * margin) / readable;
  return {
    scale: readable,
    x: -margin / 2 / readable,
    y: isTall ? top - margin / readable : top + (height - room) / 2,
  };
}

/** Zooms in or out, while the point under `at` stays. */
export function zoomed(camera: Camera, factor: number, at: { readonly x: number; readonly y: number }): Camera {
  const scale = bounded(camera.scale * factor);
  return { scale, x: camera.x + at.x / camera.scale - at.x / scale, y: camera.y + at.y / camera.scale - at.y / scale };
}

export function moved(camera: Camera, byX: number, byY: number): Camera {
  return { ...camera, x: camera.x - byX / camera.scale, y: camera.y - byY / camera.scale };
}

/** Puts the point of the picture in the middle. */
export function centred(camera: Camera, view: Size, x: number, y: number): Camera {
  return { ...camera, x: x - view.width / 2 / camera.scale, y: y - view.height / 2 / camera.scale };
}

const bounded = (scale: number): number => Math.min(largest, Math.max(smallest, scale));
