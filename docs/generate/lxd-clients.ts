// Clients of LXD other than `lxc` on gantryd: the rows of docs/daemon/lxd-clients.md, which the tests in test/e2e/lxd-clients
// prove. Pure.
import { table } from './markdown.ts';

export interface ClientRow {
  readonly client: string;
  readonly what: string;
  readonly state: 'works' | 'works differently' | 'refused';
  readonly note: string;
  /** Names of the proofs: examples of pylxd, plays of Ansible, cases of `lxd init`. */
  readonly shownBy: string;
}

type Part = Omit<ClientRow, 'client'>;

const partIn =
  (state: Part['state']) =>
  (what: string, shownBy: string, note = ''): Part => ({ what, state, note, shownBy });
const works = partIn('works');
const differs = partIn('works differently');
const refused = partIn('refused');

const partsOf = (client: string, parts: readonly Part[]): readonly ClientRow[] =>
  parts.map((part) => ({ client, ...part }));

const pylxd = 'pylxd 2.2';
const ansible = 'Ansible, `community.general` 6';
const init = '`lxd init` 5.0';

export const clientRows: readonly ClientRow[] = [
  ...partsOf(pylxd, [
    works(
      '`Client`, `authenticate`, objects that are changed, rolled back and saved',
      'authenticate host_info changes',
      '`verify` is the path of the server certificate, which names 127.0.0.1 and the addresses of the host',
    ),
    works('`certificates`', 'certificates'),
    works(
      '`containers`: create (also without source, and from simplestreams), states, save, rename, delete',
      'container_manager container_without_source container_by_old_names container_from_simplestreams container_save container_state container_rename',
    ),
    differs(
      '`container.execute`, with input, encodings and handlers',
      'execute execute_with_stdin execute_with_handlers',
      'pylxd stops to read at the first frame that it takes after it saw the end of the command: a command of a few milliseconds can lose its last lines, which a slower server hides',
    ),
    works(
      '`container.raw_interactive_execute`',
      'raw_interactive_execute',
      'after the empty frame, the end of the output, the client closes the websocket',
    ),
    works('`container.migrate`', 'migrate', 'over TLS, between two gantryd'),
    works('`container.snapshots`, `publish`, `files`', 'publish snapshots files files_of_a_directory'),
    works(
      '`images`: create from one or two files, a URL or simplestreams, aliases, export, save, delete',
      'image_create image_create_of_two_files image_attributes image_aliases image_export image_create_from_simplestreams image_create_from_url',
    ),
    works(
      '`image.copy`',
      'image_copy',
      'pylxd sends no certificate for a public image: the target must trust that of the source by an authority, as on LXD',
    ),
    works('`networks`', 'networks network_rename', '`rename` of this release makes a second network, as on LXD'),
    works('`profiles`', 'profiles'),
    works(
      '`storage_pools`, their resources and volumes',
      'storage_pools storage_volumes',
      'the drivers of [storage](storage.md)',
    ),
    works('`operations`', 'operations'),
    works(
      '`events`',
      'events events_with_the_default_client',
      'over TLS with a websocket client that sends the certificate (`ssl_options`), as on LXD',
    ),
    refused('`cluster.members`', 'cluster', 'the daemon is asked outside a cluster: see [clusters](cluster.md)'),
    works('`client.api`: projects, backups', 'api_nodes'),
  ]),
  ...partsOf(ansible, [
    works(
      '`lxd_container`: started, stopped, restarted, frozen, absent, changed config, `project`',
      'lxd_container',
      'a second run changes nothing; over `https:` its host has to trust the server certificate, for example by `SSL_CERT_FILE`',
    ),
    refused('`lxd_container` with `type: virtual-machine`', 'virtual_machine', 'there are no virtual machines'),
    works('`lxd_profile`: present, merged, renamed, absent', 'lxd_profile'),
    works('`lxd_project`: present, merged, renamed, absent', 'lxd_project'),
    refused(
      'the inventory plugin `lxd`',
      'inventory',
      'it asks only `/1.0/instances`, which release 3.12 does not have',
    ),
  ]),
  ...partsOf(init, [
    works(
      '`--preseed` with config, pools, networks, profiles and projects',
      'preseed preseed_undone',
      'the same document again changes nothing; what it made is taken back when a later part fails',
    ),
    works('`--dump`', 'dump'),
    refused(
      '`--preseed` with a pool of a driver that the host cannot have',
      'preseed_of_zfs',
      'the error says what the host lacks',
    ),
  ]),
];

export function lxdClientsBlock(): string {
  const rows = clientRows.map(({ client, what, state, note }) => [
    client,
    what,
    state,
    note === '' ? 'as on LXD' : note,
  ]);
  return table(['client', 'part', 'on gantryd', 'how or why'], rows);
}
