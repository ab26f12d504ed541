// Volumes and bind mounts of a service as disk devices, and the volumes themselves. Pure.
import { resolve } from 'node:path/posix';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf } from '../../core/documents/json-values.ts';
import type { ComposeFile } from './file.ts';

interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadonly: boolean;
  /** `volume`, `bind`, `tmpfs`; empty in the short form. */
  readonly type: string;
  /** `rslave`, for example; empty: not given. */
  readonly propagation: string;
  /** The folder of the volume that is mounted; empty: all of it. */
  readonly subpath: string;
}

export function mountsOf(file: ComposeFile, service: string, values: JsonObject): JsonObject {
  const list = Array.isArray(values['volumes']) ? (values['volumes'] as readonly Json[]) : [];
  const all = list.map((given) => ({ given, mount: isMap(given) ? longMount(given) : shortMount(asText(given)) }));
  // A volume replaces the one at its place of the service that this one extends.
  const kept = all.filter(
    ({ mount: { target } }, index) =>
      target === '' || all.findLastIndex(({ mount }) => mount.target === target) === index,
  );
  return Object.fromEntries(
    kept.flatMap(({ given, mount }, index): [string, Json][] => {
      const why = refusal(mount);
      if (why !== undefined) {
        const shown = isMap(given) ? `${mount.type || 'volume'} at ${mount.target}` : asText(given);
        file.note(['services', service, 'volumes'], `services.${service}: the volume ${shown} does not move: ${why}`);
        return [];
      }
      const isPath = mount.type === 'bind' || /^[./]/.test(mount.source);
      if (!isPath) file.mounted.add(mount.source);
      else if (mount.source.startsWith('.'))
        file.note(
          ['services', service, 'volumes'],
          `services.${service}: ${resolve(file.folder, mount.source)} is a path of the server: it must be there before the first apply`,
        );
      const from = isPath
        ? { source: resolve(file.folder, mount.source) }
        : { pool: file.pool, source: volumeName(file, mount.source) };
      return [
        [
          `volume-${index + 1}`,
          {
            type: 'disk',
            ...from,
            path: mount.target,
            ...(mount.isReadonly ? { readonly: true } : {}),
            ...(isPath && mount.propagation !== '' ? { propagation: mount.propagation } : {}),
          },
        ],
      ];
    }),
  );
}

function refusal({ source, target, type, subpath }: Mount): string | undefined {
  if (type !== '' && type !== 'volume' && type !== 'bind')
    return type === 'tmpfs' ? tmpfsRemedy : `a disk device is no ${type}`;
  if (source === '' || target === '') return 'it has no name: it is a folder of the container';
  if (source.endsWith('/docker.sock')) return 'there is no Docker on the server';
  if (source.startsWith('~')) return '~ is the home of whoever runs compose: write the whole path';
  if (`${source}${target}`.includes('$')) return 'its variable has no default';
  if (subpath !== '') return `a disk device has the whole volume: make one of its own for ${subpath}`;
  if (!target.startsWith('/')) return `${target} is no path in a container`;
  return undefined;
}

export const tmpfsRemedy = 'mount it in the container (a line of its /etc/fstab, by files:)';

const propagations = /^r?(?:private|shared|slave)$/;

function shortMount(text: string): Mount {
  const [source = '', target = '', mode = ''] = text.split(':');
  const modes = mode.split(',');
  const propagation = modes.find((each) => propagations.test(each)) ?? '';
  return { source, target, isReadonly: modes.includes('ro'), type: '', propagation, subpath: '' };
}

const longMount = (mount: JsonObject): Mount => ({
  source: asText(mount['source']),
  target: asText(mount['target']),
  isReadonly: mount['read_only'] === true,
  type: asText(mount['type']),
  propagation: asText(mapOf(mount['bind'])['propagation']),
  subpath: asText(mapOf(mount['volume'])['subpath']),
});

const volumeName = (file: ComposeFile, name: string): string =>
  file.volumes.of(asText(mapOf(file.section('volumes')[name])['name']) || name);

/** Documents of the volumes that services mount; an external one exists already. */
export function volumeDocuments(file: ComposeFile): readonly JsonObject[] {
  return [...file.mounted].flatMap((name): JsonObject[] => {
    const { name: _, external, driver, ...rest } = mapOf(file.section('volumes')[name]);
    const path = ['volumes', name];
    if (driver !== undefined && driver !== 'local')
      file.lost([...path, 'driver'], 'the pool decides where volumes are');
    for (const key of Object.keys(rest).filter((each) => !each.startsWith('x-')))
      file.lost([...path, key], key === 'labels' ? 'write them as labels:' : 'the pool decides where volumes are');
    if (external === true || isMap(external)) {
      file.note(
        path,
        `volumes.${name} is external: make the volume ${volumeName(file, name)} in the pool ${file.pool}, with its data, before the first apply`,
      );
      return [];
    }
    return [{ kind: 'storage_volume', name: volumeName(file, name), pool: file.pool }];
  });
}
