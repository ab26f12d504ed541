// Declares the verb that takes a stock LXD host over.
import { inSection, text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { approveFlag } from '../../flags/plan-flags.ts';
import type { OptionsOf, Verb } from '../../flags/verb.ts';

const { host, clientCert, clientKey, serverCert } = hostFlags;

export const migrateFromLxd = {
  name: 'migrate-from-lxd',
  summary: 'move everything that a stock LXD host has to a gantryd, or back; run again, it continues',
  flags: {
    host,
    clientCert,
    clientKey,
    serverCert,
    ...inSection('Connection:', {
      lxd: text('--lxd <url>', 'the LXD server: an address or a context (default: the socket of the LXD on this host)'),
      lxdClientCert: text('--lxd-client-cert <file>', 'client certificate for that server (default: --client-cert)'),
      lxdClientKey: text('--lxd-client-key <file>', 'key of that certificate, PEM'),
      lxdServerCert: text('--lxd-server-cert <file|fingerprint>', 'accept only this certificate of that server'),
    }),
    ...approveFlag,
    ...inSection('Execution:', {
      dryRun: toggle('--dry-run', 'only show what would move, and what would differ'),
      toLxd: toggle('--to-lxd', 'move from the gantryd to the LXD server'),
      start: toggle('--no-start', 'leave moved containers stopped on both servers'),
      keepAddresses: toggle('--keep-addresses', 'leased addresses become static addresses of the containers'),
      exact: toggle(
        '--exact',
        'keep hard links and access lists: copies travel as backups, running containers stop first',
      ),
      deleteSource: toggle('--delete-source', 'delete containers on the source after they have moved'),
      mode: text('--mode <mode>', 'which side connects: the target (pull), the source (push) or this program (relay)'),
      grace: text('--grace <duration>', 'time for a container to stop before it is killed (default 30s)'),
      stateDir: text('--state-dir <dir>', 'folder of the progress and the manifests (default lxd-move)'),
    }),
  },
  examples: [
    'gantry migrate-from-lxd --dry-run',
    'gantry migrate-from-lxd',
    'gantry migrate-from-lxd --lxd https://old:8443 --lxd-server-cert server.crt',
    'gantry migrate-from-lxd --to-lxd',
  ],
} satisfies Verb;
export type MigrateOptions = OptionsOf<typeof migrateFromLxd>;
