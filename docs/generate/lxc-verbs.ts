// The effect of each verb of `lxc` 5.0.2 on gantryd: the rows of docs/daemon/lxc-verbs.md, which the tests in test/e2e/lxc-verbs prove. Pure.
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

const groupIn =
  (state: VerbState) =>
  (of: string, verbs: string, note = '', says?: RegExp): VerbGroup => ({
    of,
    verbs,
    state,
    note,
    ...(says === undefined ? {} : { says }),
  });
const works = groupIn('works');
const differs = groupIn('works differently');
const refused = groupIn('refused');
const alone = 'the daemon is asked outside a cluster: see [clusters](cluster.md)';
const saysAlone = /not part of a cluster|isn't part of a cluster|required "cluster|Invalid cluster member name/;

const groups: readonly VerbGroup[] = [
  works('', 'copy delete exec export import info init launch list'),
  works('', 'monitor pause query rename restart restore snapshot start stop'),
  works('', 'help manpage version', 'the client alone, or GET /1.0'),
  works('', 'console', '`--type=vga` is for virtual machines'),
  works('', 'move', 'also between a real LXD and a gantryd, but for the memory of running containers'),
  works('', 'publish'),
  works('alias', 'add list remove rename', 'the client alone'),
  works(
    'remote',
    'add get-default list remove rename set-url switch',
    'with `core.https_address` set by `lxc`, or `--lxd-https`',
  ),
  works('config', 'edit get set show unset'),
  works('config device', 'add get list override remove set show unset'),
  works('config metadata', 'edit show'),
  works('config template', 'create delete edit list show'),
  works('config trust', 'add edit list list-tokens remove revoke-token show'),
  works('file', 'delete edit pull push'),
  refused('file', 'mount', 'there is no SFTP', /There is no endpoint|sshfs not found/),
  works('image', 'delete edit export get-property import info list'),
  works('image', 'set-property show unset-property'),
  differs(
    'image',
    'refresh',
    'images that were pulled by an alias; `image copy` of `lxc` names a fingerprint, which has no newer image',
  ),
  differs('image', 'copy', '`--mode=pull` and `--mode=relay`; `--mode=push` is refused'),
  works('image alias', 'create delete list rename'),
  works('network', 'attach attach-profile create delete detach detach-profile', 'bridges'),
  works('network', 'edit get info list list-leases rename set show unset', 'bridges'),
  refused('network acl', 'show-log', 'the kernel has the log of bridges', /"network_acl_log/),
  works('network acl', 'create delete edit get list rename set show unset'),
  works('network acl rule', 'add remove', 'rules of bridges name addresses'),
  refused('network forward', 'create delete edit get list set show unset', 'use a proxy device', /"network_forward/),
  refused('network forward port', 'add remove', 'use a proxy device', /"network_forward/),
  refused('network peer', 'create delete edit get list set show unset', 'for OVN', /"network_peer/),
  refused(
    'network zone',
    'create delete edit get list set show unset',
    'use `dns.domain` of the network',
    /"network_dns/,
  ),
  refused(
    'network zone record',
    'create delete edit get list set show unset',
    'use `dns.domain` of the network',
    /"network_dns/,
  ),
  refused('network zone record entry', 'add remove', 'use `dns.domain` of the network', /"network_dns/),
  works('operation', 'delete list show', 'delete: those that can be cancelled'),
  works('profile', 'add assign copy create delete edit get list remove rename set show unset'),
  works('profile device', 'add get list remove set show unset'),
  works('project', 'create delete edit get info list rename set show switch unset'),
  works('storage', 'create delete edit get info list set show unset', 'the drivers of [storage](storage.md)'),
  works('storage volume', 'attach attach-profile delete detach detach-profile'),
  works('storage volume', 'copy', '`--refresh` is refused'),
  works('storage volume', 'edit get list move rename restore set show snapshot unset'),
  works('storage volume', 'create', '`--type=block` is for virtual machines'),
  works('storage volume', 'export import'),
  refused('storage volume', 'info', 'use `storage volume show`', /"storage_volume_state"/),
  works(
    'warning',
    'acknowledge delete list show',
    '`delete --all` of this release of `lxc` only prints how `delete` is used',
  ),
  refused(
    'cluster',
    'add edit enable evacuate get list list-tokens remove rename restore revoke-token',
    alone,
    saysAlone,
  ),
  refused('cluster', 'set show unset update-certificate', alone, saysAlone),
  refused('cluster group', 'assign create delete edit list remove rename show', alone, saysAlone),
  refused('cluster role', 'add remove', alone, saysAlone),
];

export interface Verb {
  readonly state: VerbState;
  readonly says?: RegExp;
}

/** By all of the words of a verb, such as `config device add`. */
export const lxcVerbs: ReadonlyMap<string, Verb> = new Map(
  groups.flatMap(({ of, verbs, ...verb }) => verbs.split(' ').map((word) => [`${of} ${word}`.trim(), verb] as const)),
);

export function lxcVerbsBlock(): string {
  const rows = groups.map(({ of, verbs, state, note }) => [
    code(of === '' ? 'lxc' : `lxc ${of}`),
    verbs.split(' ').map(code).join(', '),
    state,
    note === '' ? 'as on LXD' : note,
  ]);
  return table(['command', 'verbs', 'on gantryd', 'how or why'], rows);
}
