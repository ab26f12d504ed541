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

const works = 'works';
const pylxd = 'pylxd 2.2';
const ansible = 'Ansible, `community.general` 6';
const init = '`lxd init` 5.0';

export const clientRows: readonly ClientRow[] = [
  {
    client: pylxd,
    what: '`Client`, `authenticate`, objects that are changed, rolled back and saved',
    state: works,
    note: '`verify` is the path of the server certificate, which names 127.0.0.1 and the addresses of the host',
    shownBy: 'authenticate host_info changes',
  },
  { client: pylxd, what: '`certificates`', state: works, note: '', shownBy: 'certificates' },
  {
    client: pylxd,
    what: '`containers`: create (also without source, and from simplestreams), states, save, rename, delete',
    state: works,
    note: '',
    shownBy:
      'container_manager container_without_source container_by_old_names container_from_simplestreams container_save container_state container_rename',
  },
  {
    client: pylxd,
    what: '`container.execute`, with input, encodings and handlers',
    state: 'works differently',
    note: 'pylxd stops to read at the first frame that it takes after it saw the end of the command: a command of a few milliseconds can lose its last lines, which a slower server hides',
    shownBy: 'execute execute_with_stdin execute_with_handlers',
  },
  {
    client: pylxd,
    what: '`container.raw_interactive_execute`',
    state: works,
    note: 'after the empty frame, the end of the output, the client closes the websocket',
    shownBy: 'raw_interactive_execute',
  },
  {
    client: pylxd,
    what: '`container.migrate`',
    state: works,
    note: 'over TLS, between two gantryd',
    shownBy: 'migrate',
  },
  {
    client: pylxd,
    what: '`container.snapshots`, `publish`, `files`',
    state: works,
    note: '',
    shownBy: 'publish snapshots files files_of_a_directory',
  },
  {
    client: pylxd,
    what: '`images`: create from one or two files, a URL or simplestreams, aliases, export, save, delete',
    state: works,
    note: '',
    shownBy:
      'image_create image_create_of_two_files image_attributes image_aliases image_export image_create_from_simplestreams image_create_from_url',
  },
  {
    client: pylxd,
    what: '`image.copy`',
    state: works,
    note: 'pylxd sends no certificate for a public image: the target must trust that of the source by an authority, as on LXD',
    shownBy: 'image_copy',
  },
  {
    client: pylxd,
    what: '`networks`',
    state: works,
    note: '`rename` of this release makes a second network, as on LXD',
    shownBy: 'networks network_rename',
  },
  { client: pylxd, what: '`profiles`', state: works, note: '', shownBy: 'profiles' },
  {
    client: pylxd,
    what: '`storage_pools`, their resources and volumes',
    state: works,
    note: 'drivers dir and btrfs',
    shownBy: 'storage_pools storage_volumes',
  },
  { client: pylxd, what: '`operations`', state: works, note: '', shownBy: 'operations' },
  {
    client: pylxd,
    what: '`events`',
    state: works,
    note: 'over TLS with a websocket client that sends the certificate (`ssl_options`), as on LXD',
    shownBy: 'events events_with_the_default_client',
  },
  {
    client: pylxd,
    what: '`cluster.members`',
    state: 'refused',
    note: 'the daemon is asked outside a cluster: see [clusters](cluster.md)',
    shownBy: 'cluster',
  },
  { client: pylxd, what: '`client.api`: projects, backups', state: works, note: '', shownBy: 'api_nodes' },
  {
    client: ansible,
    what: '`lxd_container`: started, stopped, restarted, frozen, absent, changed config, `project`',
    state: works,
    note: 'a second run changes nothing; over `https:` its host has to trust the server certificate, for example by `SSL_CERT_FILE`',
    shownBy: 'lxd_container',
  },
  {
    client: ansible,
    what: '`lxd_container` with `type: virtual-machine`',
    state: 'refused',
    note: 'there are no virtual machines',
    shownBy: 'virtual_machine',
  },
  {
    client: ansible,
    what: '`lxd_profile`: present, merged, renamed, absent',
    state: works,
    note: '',
    shownBy: 'lxd_profile',
  },
  {
    client: ansible,
    what: '`lxd_project`: present, merged, renamed, absent',
    state: works,
    note: '',
    shownBy: 'lxd_project',
  },
  {
    client: ansible,
    what: 'the inventory plugin `lxd`',
    state: 'refused',
    note: 'it asks only `/1.0/instances`, which release 3.12 does not have',
    shownBy: 'inventory',
  },
  {
    client: init,
    what: '`--preseed` with config, pools, networks, profiles and projects',
    state: works,
    note: 'the same document again changes nothing; what it made is taken back when a later part fails',
    shownBy: 'preseed preseed_undone',
  },
  { client: init, what: '`--dump`', state: works, note: '', shownBy: 'dump' },
  {
    client: init,
    what: '`--preseed` with a pool of a driver that the host cannot have',
    state: 'refused',
    note: 'the error says what the host lacks',
    shownBy: 'preseed_of_zfs',
  },
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
