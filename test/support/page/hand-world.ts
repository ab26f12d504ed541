// A host's containers in worlds for the page: a running and a stopped one, a log, files.
import type { ContainerView, FileView } from '../../../reconciler/controller/contract/index.ts';

export interface HandWorld {
  readonly containers: ContainerView[];
  readonly containerLog: string;
  files(path: string): FileView;
}

const MiB = 1024 * 1024;

export function handWorld(word: (text: string) => string, start: number): HandWorld {
  const figures = {
    cpuNs: 42_000_000_000,
    memoryBytes: 180 * MiB,
    memoryPeakBytes: 256 * MiB,
    diskBytes: 900 * MiB,
    receivedBytes: 12 * MiB,
    sentBytes: 3 * MiB,
    processes: 14,
  };
  const snapshots = [
    { name: word('before-upgrade'), createdAt: new Date(start - 7_200_000).toISOString(), isStateful: false },
  ];
  const container = (name: string, more: Partial<ContainerView>): ContainerView => ({
    name: word(name),
    status: 'Running',
    addresses: ['10.10.0.7', 'fd42::7'],
    profiles: [word('default'), word('web')],
    snapshots: [],
    ...more,
  });
  return {
    containers: [
      container('web1', { figures, snapshots, description: word('the shop') }),
      container('web2', { status: 'Stopped', addresses: [] }),
      container('web3', { status: 'Frozen', figures }),
    ],
    containerLog: `[  OK  ] \u001b[0;32mStarted\u001b[0m ${word('nginx')}\r\nweb1 login: `,
    files: (path) => ({
      path,
      type: 'directory',
      mode: '0755',
      uid: 0,
      gid: 0,
      entries: [
        { name: word('etc').replaceAll('/', ''), type: 'directory', mode: '0755', uid: 0, gid: 0 },
        { name: word('motd').replaceAll('/', ''), type: 'file', sizeBytes: 2048, mode: '0644', uid: 0, gid: 0 },
        { name: 'run', type: 'symlink', target: word('/var/run'), mode: '0777', uid: 0, gid: 0 },
        { name: 'socket', type: 'other' },
      ],
    }),
  };
}
