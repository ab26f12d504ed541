// Shown in place of work in containers to those who may not do it: what it needs, on a controller and with gantry ui.
import { isAlone } from '../data/store.ts';
import { Empty } from './states.tsx';

export function Closed({ title, what }: { readonly title: string; readonly what: string }) {
  return (
    <Empty isPage title={title}>
      {isAlone.value ? (
        <p>
          This page only shows the host: start <code>gantry ui</code> without <code>--read-only</code> to work in its
          containers.
        </p>
      ) : (
        <p>
          {what} needs the role operate, and <code>console: true</code> in the controller's configuration.
        </p>
      )}
    </Empty>
  );
}
