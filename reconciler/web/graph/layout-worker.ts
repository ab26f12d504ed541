// Lays a graph out in a thread of its own: messages in, messages out.
import { layoutGraph, type LayoutInput } from './layout.ts';

self.addEventListener('message', (message: MessageEvent<LayoutInput>) => {
  const layout = layoutGraph(message.data);
  self.postMessage(layout, { transfer: [layout.x.buffer, layout.y.buffer] });
});
