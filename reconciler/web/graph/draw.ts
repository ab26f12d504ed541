// Draws nodes, edges and groups at each scale. The scene decides what and where.
import type { ObjectStatusName } from '../../controller/contract/index.ts';
import type { Camera, Size } from './camera.ts';
import { laneHead, node, type Layout } from './layout.ts';
import type { Graph } from './model.ts';
import type { Palette } from './palette.ts';

/** Below these scales text, then cards, are not drawn. */
const textScale = 0.45;
export const cardScale = 0.2;

export interface Picture {
  readonly graph: Graph;
  readonly layout: Layout;
  readonly statuses: readonly ObjectStatusName[];
  readonly notes: readonly string[];
  readonly camera: Camera;
  readonly view: Size;
  readonly palette: Palette;
}

type Context = CanvasRenderingContext2D;

/** Clears the canvas and sets its units to those of the picture. */
export function begin(context: Context, { camera: { x, y, scale }, view }: Picture): void {
  const ratio = context.canvas.width / view.width;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.setTransform(scale * ratio, 0, 0, scale * ratio, -x * scale * ratio, -y * scale * ratio);
}

function isInSight({ camera, view }: Picture, x: number, y: number, width: number, height: number): boolean {
  return (
    x + width >= camera.x &&
    y + height >= camera.y &&
    x <= camera.x + view.width / camera.scale &&
    y <= camera.y + view.height / camera.scale
  );
}

/** Names of lanes stay readable at small scales, as long as they have room. */
function drawLanes(context: Context, { graph, layout, camera, view, palette }: Picture): void {
  const size = Math.min(laneHead, Math.max(18, 12 / camera.scale));
  context.font = `600 ${size}px ${palette.font}`;
  context.textBaseline = 'top';
  for (const [lane, top] of layout.laneTops.entries()) {
    if (top > camera.y + view.height / camera.scale) break;
    context.fillStyle = palette.edge;
    context.fillRect(0, top, Math.max(layout.width, node.width), 1 / camera.scale);
    context.fillStyle = palette.soft;
    context.fillText(graph.lanes[lane] ?? '', 0, top + 6);
  }
}

export function drawAllEdges(context: Context, picture: Picture): void {
  drawLanes(context, picture);
  const { edges } = picture.graph.input;
  context.strokeStyle = picture.palette.edge;
  context.globalAlpha = edges.length > 4000 ? 0.35 : 0.8;
  context.lineWidth = Math.max(1, 0.7 / picture.camera.scale);
  context.beginPath();
  for (let at = 0; at < edges.length; at += 2) addEdge(context, picture, edges[at] ?? 0, edges[at + 1] ?? 0);
  context.stroke();
  context.globalAlpha = 1;
}

export function drawEdgesOf(context: Context, picture: Picture, id: number): void {
  context.strokeStyle = picture.palette.accent;
  context.lineWidth = Math.max(2, 1.5 / picture.camera.scale);
  context.beginPath();
  for (const other of picture.graph.dependencies(id)) addEdge(context, picture, id, other);
  for (const other of picture.graph.dependents(id)) addEdge(context, picture, other, id);
  context.stroke();
}

function addEdge(context: Context, picture: Picture, from: number, to: number): void {
  const { x, y } = picture.layout;
  const startX = (x[to] ?? 0) + node.width;
  const startY = (y[to] ?? 0) + node.height / 2;
  const endX = x[from] ?? 0;
  const endY = (y[from] ?? 0) + node.height / 2;
  const left = Math.min(startX, endX);
  const top = Math.min(startY, endY);
  if (!isInSight(picture, left, top, Math.abs(endX - startX), Math.abs(endY - startY))) return;
  context.moveTo(startX, startY);
  if (picture.camera.scale < cardScale) context.lineTo(endX, endY);
  else context.bezierCurveTo(startX + node.gapX, startY, endX - node.gapX, endY, endX, endY);
}

export function drawNodes(context: Context, picture: Picture): void {
  if (picture.camera.scale < cardScale) drawSpots(context, picture);
  else drawCards(context, picture);
}

/** At small scales a node is a block in the colour of its status. */
function drawSpots(context: Context, picture: Picture): void {
  const { x, y } = picture.layout;
  const byStatus = new Map<ObjectStatusName, number[]>();
  for (const [id, status] of picture.statuses.entries()) {
    if (!isInSight(picture, x[id] ?? 0, y[id] ?? 0, node.width, node.height)) continue;
    const ids = byStatus.get(status);
    if (ids) ids.push(id);
    else byStatus.set(status, [id]);
  }
  for (const [status, ids] of byStatus) {
    context.fillStyle = picture.palette.statuses[status];
    for (const id of ids) context.fillRect(x[id] ?? 0, y[id] ?? 0, node.width, node.height);
  }
}

function drawCards(context: Context, picture: Picture): void {
  const { x, y } = picture.layout;
  for (let id = 0; id < x.length; id++) {
    if (isInSight(picture, x[id] ?? 0, y[id] ?? 0, node.width, node.height)) drawCard(context, picture, id);
  }
}

/** Redraws only these nodes, for new statuses while the camera stands still. */
export function drawSome(context: Context, picture: Picture, ids: readonly number[]): void {
  const areSpots = picture.camera.scale < cardScale;
  for (const id of ids) {
    const x = picture.layout.x[id] ?? 0;
    const y = picture.layout.y[id] ?? 0;
    if (!isInSight(picture, x, y, node.width, node.height)) continue;
    context.clearRect(x - 1, y - 1, node.width + 2, node.height + 2);
    if (!areSpots) {
      drawCard(context, picture, id);
      continue;
    }
    context.fillStyle = picture.palette.statuses[picture.statuses[id] ?? 'unknown'];
    context.fillRect(x, y, node.width, node.height);
  }
}

function drawCard(context: Context, { layout, graph, statuses, notes, palette, camera }: Picture, id: number): void {
  const x = layout.x[id] ?? 0;
  const y = layout.y[id] ?? 0;
  const status = statuses[id] ?? 'unknown';
  context.fillStyle = palette.surface;
  context.strokeStyle = status === 'synced' ? palette.line : palette.statuses[status];
  context.lineWidth = 1.2;
  box(context, x, y, node.width, node.height, 6);
  context.fill();
  context.stroke();
  drawPair(context, x + node.width - 44, y + 5, status, palette);
  if (camera.scale < textScale) return;
  context.textBaseline = 'middle';
  context.fillStyle = palette.ink;
  context.font = `600 12px ${palette.font}`;
  context.fillText(cut(graph.titles[id] ?? '', 19), x + 10, y + 14);
  context.fillStyle = palette.soft;
  context.font = `11px ${palette.font}`;
  context.fillText(cut(notes[id] ?? '', 28), x + 10, y + 30);
}

/** Draws two squares: desired, and live in the colour of its status. The one that does not exist is hollow. */
function drawPair(context: Context, x: number, y: number, status: ObjectStatusName, palette: Palette): void {
  drawSquare(context, x, y, palette.accent, status === 'undeclared');
  drawSquare(context, x + 20, y, palette.statuses[status], status === 'missing');
}

function drawSquare(context: Context, x: number, y: number, colour: string, isHollow: boolean): void {
  context.fillStyle = colour;
  context.strokeStyle = colour;
  box(context, x, y, 15, 16, 3);
  if (!isHollow) return context.fill();
  context.lineWidth = 1.5;
  context.setLineDash([3, 2]);
  context.stroke();
  context.setLineDash([]);
}

export function drawFrame(context: Context, { layout, palette, camera }: Picture, id: number): void {
  context.strokeStyle = palette.accent;
  context.lineWidth = Math.max(2.5, 2 / camera.scale);
  box(context, (layout.x[id] ?? 0) - 3, (layout.y[id] ?? 0) - 3, node.width + 6, node.height + 6, 8);
  context.stroke();
}

function box(context: Context, x: number, y: number, width: number, height: number, radius: number): void {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text);
