// Containers of the host that is shown: read on an interval while the view is open, with the usage of the last minutes.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ContainerList } from '../../controller/contract/index.ts';
import { api, reasonOf } from './api.ts';
import { pauseAfterMs, withSample, type Samples } from './figures.ts';

export interface HostContainers {
  readonly place: string;
  readonly list?: ContainerList;
  readonly error?: string;
  /** The usage of the last minutes, by name. */
  readonly samples: ReadonlyMap<string, Samples>;
}

export const containers = signal<HostContainers>({ place: '', samples: new Map() });

export const placeOf = (host: string, project: string | undefined): string => `${host} ${project ?? ''}`;

/** Keeps the containers of the host current until the view is left. */
export function useContainers(host: string, project: string | undefined, isOn: boolean): HostContainers {
  useEffect(() => {
    if (!isOn) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      const beganMs = performance.now();
      if (!document.hidden) await readContainers(host, project, stop.signal);
      const tookMs = performance.now() - beganMs;
      if (!stop.signal.aborted) timer = setTimeout(() => void look(), pauseAfterMs(tookMs));
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [host, project, isOn]);
  const now = containers.value;
  return now.place === placeOf(host, project) ? now : { place: '', samples: new Map() };
}

export async function readContainers(host: string, project: string | undefined, stop?: AbortSignal): Promise<void> {
  const place = placeOf(host, project);
  try {
    const list = await api.containers(host, project, stop);
    const before = containers.peek().place === place ? containers.peek().samples : new Map<string, Samples>();
    const samples = new Map(
      list.containers.flatMap(({ name, figures }) =>
        figures === undefined ? [] : [[name, withSample(before.get(name) ?? [], list.at, figures)] as const],
      ),
    );
    containers.value = { place, list, samples };
  } catch (error) {
    if (stop?.aborted !== true) containers.value = { ...stay(place), error: reasonOf(error) };
  }
}

/** Keeps the shown containers while the host does not answer. */
const stay = (place: string): HostContainers =>
  containers.peek().place === place ? containers.peek() : { place, samples: new Map() };
