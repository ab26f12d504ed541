// Decides what is drawn when: edges on one canvas when the camera moves, nodes on another above it with every batch of events.
import { fitted, opened, type Camera, type Size } from './camera.ts';
import { begin, drawAllEdges, drawEdgesOf, drawFrame, drawNodes, drawSome, type Picture } from './draw.ts';
import { node, type Layout } from './layout.ts';
import type { Graph, NodeFaces } from './model.ts';
import { readPalette, type Palette } from './palette.ts';

/** More edges than this are drawn only once the camera stands still. */
const edgesWhileMoving = 1500;
const restTime = 90;

export class Scene {
  readonly #edges: CanvasRenderingContext2D;
  readonly #nodes: CanvasRenderingContext2D;
  #palette: Palette = readPalette();
  #shown: { readonly graph: Graph; readonly layout: Layout } | undefined;
  #faces: NodeFaces = { statuses: [], notes: [] };
  #chosen: number | undefined;
  #view: Size = { width: 1, height: 1 };
  #camera: Camera = { x: 0, y: 0, scale: 1 };
  #frame: number | undefined;
  #rest: ReturnType<typeof setTimeout> | undefined;
  /** Camera, layout, colours or choice have changed, so everything is drawn again, not only nodes with a new look. */
  #mustRedrawAll = true;
  #drawn: NodeFaces = { statuses: [], notes: [] };

  constructor(edges: CanvasRenderingContext2D, nodes: CanvasRenderingContext2D) {
    this.#edges = edges;
    this.#nodes = nodes;
  }

  get view(): Size {
    return this.#view;
  }

  get camera(): Camera {
    return this.#camera;
  }

  show(graph: Graph, layout: Layout, faces: NodeFaces): void {
    this.#shown = { graph, layout };
    this.#faces = faces;
    this.#redraw();
  }

  takeFaces(faces: NodeFaces): void {
    this.#faces = faces;
    this.#request();
  }

  choose(id: number | undefined): void {
    this.#chosen = id;
    this.#redraw();
  }

  look(camera: Camera): void {
    this.#camera = camera;
    this.#redraw();
  }

  /** Moves the camera to the first view. */
  open(): void {
    if (this.#shown) this.look(opened(this.#shown.layout, this.#view));
  }

  fit(): void {
    if (this.#shown) this.look(fitted(this.#shown.layout, this.#view));
  }

  resize(view: Size): void {
    this.#view = { width: Math.max(1, view.width), height: Math.max(1, view.height) };
    const ratio = Math.min(2, window.devicePixelRatio);
    for (const { canvas } of [this.#edges, this.#nodes]) {
      canvas.width = Math.round(this.#view.width * ratio);
      canvas.height = Math.round(this.#view.height * ratio);
    }
    this.#redraw();
  }

  readColours(): void {
    this.#palette = readPalette();
    this.#redraw();
  }

  end(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    clearTimeout(this.#rest);
  }

  /** The node under a point of the view. */
  nodeAt(viewX: number, viewY: number): number | undefined {
    if (!this.#shown) return undefined;
    const { x, y } = this.#shown.layout;
    const atX = this.#camera.x + viewX / this.#camera.scale;
    const atY = this.#camera.y + viewY / this.#camera.scale;
    for (let id = 0; id < x.length; id++) {
      const left = x[id] ?? 0;
      const top = y[id] ?? 0;
      if (atX >= left && atX <= left + node.width && atY >= top && atY <= top + node.height) return id;
    }
    return undefined;
  }

  #redraw(): void {
    this.#mustRedrawAll = true;
    this.#request();
  }

  #request(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      const picture = this.#picture();
      if (!picture) return;
      if (this.#mustRedrawAll) this.#drawAll(picture);
      else drawSome(this.#nodes, picture, this.#changed());
      this.#drawn = this.#faces;
      this.#mustRedrawAll = false;
    });
  }

  #drawAll(picture: Picture): void {
    this.#drawEdges(picture);
    begin(this.#nodes, picture);
    drawNodes(this.#nodes, picture);
    if (this.#chosen !== undefined) drawFrame(this.#nodes, picture, this.#chosen);
  }

  #changed(): readonly number[] {
    const { statuses, notes } = this.#drawn;
    const ids: number[] = [];
    for (const [id, status] of this.#faces.statuses.entries())
      if (status !== statuses[id] || this.#faces.notes[id] !== notes[id]) ids.push(id);
    return ids;
  }

  #picture(): Picture | undefined {
    if (!this.#shown) return undefined;
    return { ...this.#shown, ...this.#faces, camera: this.#camera, view: this.#view, palette: this.#palette };
  }

  #drawEdges(picture: Picture): void {
    clearTimeout(this.#rest);
    begin(this.#edges, picture);
    const areMany = picture.graph.input.edges.length / 2 > edgesWhileMoving;
    if (areMany) this.#rest = setTimeout(() => this.#drawEveryEdge(), restTime);
    else drawAllEdges(this.#edges, picture);
    if (this.#chosen !== undefined) drawEdgesOf(this.#edges, picture, this.#chosen);
  }

  #drawEveryEdge(): void {
    const picture = this.#picture();
    if (!picture) return;
    begin(this.#edges, picture);
    drawAllEdges(this.#edges, picture);
    if (this.#chosen !== undefined) drawEdgesOf(this.#edges, picture, this.#chosen);
  }
}
