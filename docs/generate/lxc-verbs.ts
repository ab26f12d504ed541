// The effect of each verb of `lxc` 5.0.2 on gantryd: the rows of docs/daemon/lxc-verbs.md, which the tests in test/e2e/lxc-verbs prove. Pure.
import { endpoints } from '../../server/api/endpoints/endpoint-table.ts';
import type { Endpoint } from '../../server/api/endpoints/endpoint.ts';
import { code, table } from './markdown.ts';

export type VerbState = 'works' | 'works differently' | 'refused';

interface VerbGroup {
  /** The words before the last one; '' for verbs of one word. */
  readonly of: string;
  /** The last words, separated by spaces. */
  readonly verbs: string;
  readonly state: VerbState;
  readonly note: string;
  /** Refused ones: what standard error says. */
  readonly says?: RegExp;
}

const works = 'works';
const refused = 'refused';
const alone = 'the daemon is asked outside a cluster: see [clusters](cluster.md)';
const saysAlone = /not part of a cluster|isn't part of a cluster|required "cluster|Invalid cluster member name/;

const groups: readonly VerbGroup[] = [
  { of: '', verbs: 'copy delete exec export import info init launch list', state: works, note: '' },
  { of: '', verbs: 'monitor pause query rename restart restore snapshot start stop', state: works, note: '' },
  { of: '', verbs: 'help manpage version', state: works, note: 'the client alone, or GET /1.0' },
  { of: '', verbs: 'console', state: works, note: '`--type=vga` is for virtual machines' },
  {
    of: '',
    verbs: 'move',
    state: works,
    note: 'also between a real LXD and a gantryd, but for the memory of running containers',
  },
  { of: '', verbs: 'publish', state: works, note: '' },
  { of: 'alias', verbs: 'add list remove rename', state: works, note: 'the client alone' },
  {
    of: 'remote',
    verbs: 'add get-default list remove rename set-url switch',
    state: works,
    note: 'with `core.https_address` set by `lxc`, or `--lxd-https`',
  },
  { of: 'config', verbs: 'edit get set show unset', state: works, note: '' },
  { of: 'config device', verbs: 'add get list override remove set show unset', state: works, note: '' },
  { of: 'config metadata', verbs: 'edit show', state: works, note: '' },
  { of: 'config template', verbs: 'create delete edit list show', state: works, note: '' },
  { of: 'config trust', verbs: 'add edit list list-tokens remove revoke-token show', state: works, note: '' },
  { of: 'file', verbs: 'delete edit pull push', state: works, note: '' },
  {
    of: 'file',
    verbs: 'mount',
    state: refused,
    note: 'there is no SFTP',
    says: /There is no endpoint|sshfs not found/,
  },
  { of: 'image', verbs: 'delete edit export get-property import info list', state: works, note: '' },
  { of: 'image', verbs: 'set-property show unset-property', state: works, note: '' },
  {
    of: 'image',
    verbs: 'refresh',
    state: 'works differently',
    note: 'images that were pulled by an alias; `image copy` of `lxc` names a fingerprint, which has no newer image',
  },
  {
    of: 'image',
    verbs: 'copy',
    state: 'works differently',
    note: '`--mode=pull` and `--mode=relay`; `--mode=push` is refused',
  },
  { of: 'image alias', verbs: 'create delete list rename', state: works, note: '' },
  { of: 'network', verbs: 'attach attach-profile create delete detach detach-profile', state: works, note: 'bridges' },
  { of: 'network', verbs: 'edit get info list list-leases rename set show unset', state: works, note: 'bridges' },
  {
    of: 'network acl',
    verbs: 'show-log',
    state: refused,
    note: 'the kernel has the log of bridges',
    says: /"network_acl_log/,
  },
  { of: 'network acl', verbs: 'create delete edit get list rename set show unset', state: works, note: '' },
  { of: 'network acl rule', verbs: 'add remove', state: works, note: 'rules of bridges name addresses' },
  {
    of: 'network forward',
    verbs: 'create delete edit get list set show unset',
    state: refused,
    note: 'use a proxy device',
    says: /"network_forward/,
  },
  {
    of: 'network forward port',
    verbs: 'add remove',
    state: refused,
    note: 'use a proxy device',
    says: /"network_forward/,
  },
  {
    of: 'network peer',
    verbs: 'create delete edit get list set show unset',
    state: refused,
    note: 'for OVN',
    says: /"network_peer/,
  },
  {
    of: 'network zone',
    verbs: 'create delete edit get list set show unset',
    state: refused,
    note: 'use `dns.domain` of the network',
    says: /"network_dns/,
  },
  {
    of: 'network zone record',
    verbs: 'create delete edit get list set show unset',
    state: refused,
    note: 'use `dns.domain` of the network',
    says: /"network_dns/,
  },
  {
    of: 'network zone record entry',
    verbs: 'add remove',
    state: refused,
    note: 'use `dns.domain` of the network',
    says: /"network_dns/,
  },
  { of: 'operation', verbs: 'delete list show', state: works, note: 'delete: those that can be cancelled' },
  {
    of: 'profile',
    verbs: 'add assign copy create delete edit get list remove rename set show unset',
    state: works,
    note: '',
  },
  { of: 'profile device', verbs: 'add get list remove set show unset', state: works, note: '' },
  { of: 'project', verbs: 'create delete edit get info list rename set show switch unset', state: works, note: '' },
  {
    of: 'storage',
    verbs: 'create delete edit get info list set show unset',
    state: works,
    note: 'drivers dir and btrfs',
  },
  { of: 'storage volume', verbs: 'attach attach-profile copy delete detach detach-profile', state: works, note: '' },
  { of: 'storage volume', verbs: 'edit get list move rename restore set show snapshot unset', state: works, note: '' },
  { of: 'storage volume', verbs: 'create', state: works, note: '`--type=block` is for virtual machines' },
  { of: 'storage volume', verbs: 'export import', state: works, note: '' },
  {
    of: 'storage volume',
    verbs: 'info',
    state: refused,
    note: 'use `storage volume show`',
    says: /"storage_volume_state"/,
  },
  {
    of: 'warning',
    verbs: 'acknowledge delete list show',
    state: works,
    note: '`delete --all` of this release of `lxc` only prints how `delete` is used',
  },
  {
    of: 'cluster',
    verbs: 'add edit enable evacuate get list list-tokens remove rename restore revoke-token',
    state: refused,
    note: alone,
    says: saysAlone,
  },
  { of: 'cluster', verbs: 'set show unset update-certificate', state: refused, note: alone, says: saysAlone },
  {
    of: 'cluster group',
    verbs: 'assign create delete edit list remove rename show',
    state: refused,
    note: alone,
    says: saysAlone,
  },
  { of: 'cluster role', verbs: 'add remove', state: refused, note: alone, says: saysAlone },
];

export interface Verb {
  readonly state: VerbState;
  readonly says?: RegExp;
}

/** By all of the words of a verb, such as `config device add`. */
const listed: ReadonlyMap<string, Verb> = new Map(
  groups.flatMap(({ of, verbs, state, says }) =>
    verbs
      .split(' ')
      .map((verb) => [`${of} ${verb}`.trim(), { state, ...(says === undefined ? {} : { says }) }] as const),
  ),
);

/** Endpoints that are not built yet answer so. */
const unbuilt: readonly (readonly [string, Verb])[] = (endpoints as readonly Endpoint[]).flatMap(
  ({ method, path, built }): [string, Verb][] =>
    method === 'POST' && path === '/1.0/projects/:name' && !built
      ? [['project rename', { state: refused, says: /not available/ }]]
      : [],
);

export const lxcVerbs: ReadonlyMap<string, Verb> = new Map([...listed, ...unbuilt]);

export function lxcVerbsBlock(): string {
  const rows = groups.map(({ of, verbs, state, note }) => [
    code(of === '' ? 'lxc' : `lxc ${of}`),
    verbs.split(' ').map(code).join(', '),
    state,
    note === '' ? 'as on LXD' : note,
  ]);
  return table(['command', 'verbs', 'on gantryd', 'how or why'], rows);
}
