// Flags of verbs that talk to one host or to several, and which of them exclude each other.
import { inSection, list, text, toggle, type Options } from './flag.ts';
import { usageError } from '../errors/usage-error.ts';

export const hostsFlag = inSection('Several hosts:', {
  hosts: text('--hosts <file>', 'work on the hosts of a hosts file; --host then selects some: NAME, @GROUP or labels'),
});

export const hostFlags = {
  ...inSection('Connection:', {
    host: list(
      '--host <url>',
      'unix:///path or https://name:8443, several https addresses of a cluster with commas between, or a context (default: GANTRY_HOST, the context in use, or the local daemon)',
    ),
    embedded: text('--embedded <dir>', 'start a daemon for this command, with DIR as its state directory'),
    runtime: text('--runtime <name>', 'runtime of the embedded daemon: auto, lxc or sim'),
    clientCert: text('--client-cert <file>', 'client certificate, PEM'),
    clientKey: text('--client-key <file>', 'key of the client certificate, PEM'),
    serverCert: text('--server-cert <file|fingerprint>', 'accept only this server certificate'),
    project: text('--project <name>', 'project on the server'),
  }),
  ...hostsFlag,
};
export type HostOptions = Options<typeof hostFlags>;

export const selectorFlags = inSection('Selection:', {
  selector: text(
    '-l, --selector <labels>',
    'select objects by labels: app=web,tier!=db,env in (a,b); with --hosts: select hosts',
  ),
  objectSelector: text('--object-selector <labels>', 'select objects by labels, also with --hosts'),
});
export type SelectorOptions = Options<typeof selectorFlags>;

/** For verbs that read no documents. */
export const hostSelectorFlag = inSection('Selection:', {
  selector: text('-l, --selector <labels>', 'with --hosts: select hosts by labels'),
});

export const rolloutFlags = inSection('Several hosts:', {
  batch: text('--batch <n|n%>', 'with --hosts: number or share of hosts per batch (default 1)'),
  canary: text('--canary <n|host>', 'with --hosts: hosts that go first, as a batch of their own'),
  keepGoing: toggle('--keep-going', 'with --hosts: continue with the other hosts after one failed'),
});
export type RolloutOptions = Options<typeof rolloutFlags>;

/** Refuses flags that mean nothing without --hosts. */
export function refuseRolloutFlags(
  { hosts, batch, canary, keepGoing, host, selector }: HostOptions & RolloutOptions & SelectorOptions,
  selectsObjects: boolean,
): void {
  if (hosts !== undefined) return;
  if (selector !== undefined && !selectsObjects)
    throw usageError('--selector selects hosts here: it needs --hosts FILE');
  const flag =
    batch !== undefined ? '--batch' : canary !== undefined ? '--canary' : keepGoing === true ? '--keep-going' : '';
  if (flag !== '') throw usageError(`${flag} is for several hosts: it needs --hosts FILE`);
  if (host !== undefined && host.length > 1) throw usageError('--host may be repeated only with --hosts');
}
